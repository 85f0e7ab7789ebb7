"""Archives: a sealed record in one `.tar.gz`, which plain `tar xzf` reads.

An archive is made of gzip members that each hold about 1 MiB of the tar stream, so that it is packed and read on all cores, and
one file can be read without the rest. Beside it are a copy of the record's metadata document and a small member index;
`archive_index.json` lists all archives of a folder with their digests.
"""
