"""Records as other tools read them: in-toto and SLSA, RO-Crate, OpenTelemetry, CycloneDX, citations.

Documents in, plain data out: a module for each format, and `RecordContent`, which all of them read. Nothing here opens a
file. What a document does not know is absent in every format; names and numbers are those of the document.
"""
