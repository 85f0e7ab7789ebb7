"""How records are found again: an index of many stores that can be deleted and rebuilt. Only this package knows SQL.

    tables      the tables, their columns, and the version of both
    rows, run_rows, session_rows, record_facts, document_values   a document -> the rows that describe it: pure, of any quality
    reading     the files of a record -> what `rows` needs
    database    the catalog, whichever database it is in; `engine` is what it needs of one
    sqlite_engine, reading_sql   a file: opened, replaced when it is damaged or of another version, asked by users
    postgres_engine, postgres_sql, postgres_tables, postgres_reading_sql   the same for a server that hosts share
    word_split, word_filter   texts as words, for a server that has to find the same as a file
    known_stores   which stores there are, as recorders and `runcard index` note them
    document_decoding   the documents of many records, fast
    filling     stores -> rows, only what changed
    plan_filling   test plans of projects -> rows
    conditions  what a user asks for -> SQL with parameters
    searching   the questions
    transcript_text, transcript_index   transcripts in parts, and the search index over their words

The records are the truth, the catalog is a cache of what they say. Recording does not touch it: a question first catches up with
the ledgers of the stores. So a record is found as soon as it is closed, and a catalog that is locked, full or gone
disturbs nobody.
"""
