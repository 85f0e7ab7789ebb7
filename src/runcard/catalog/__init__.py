"""How records are found again: an index of many stores that can be deleted and rebuilt. Only this package knows SQL.

    tables      the tables, their columns, and the version of both
    rows        a record -> the rows that describe it: pure, for documents of any quality
    reading     the files of a record -> what `rows` needs
    database    the file of the catalog: opened, replaced when it is damaged or of another version
    known_stores   which stores there are, as recorders and `runcard index` note them
    filling     stores -> rows, only what changed
    plan_filling   test plans of projects -> rows
    conditions  what a user asks for -> SQL with parameters
    searching   the questions
    transcript_text, transcript_index   transcripts in parts, and the search index over their words

The records are the truth, the catalog is a cache of what they say. Recording does not touch it: a question first catches up with
the ledgers of the stores. So a record is found as soon as it is closed, and a catalog that is locked, full or gone
disturbs nobody.
"""
