-- Names for runs that others are checked against.
CREATE TABLE baseline (
    name TEXT PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (id)
) STRICT, WITHOUT ROWID;
