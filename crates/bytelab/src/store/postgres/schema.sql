-- Runs of many machines. A run is added in one transaction and never changed, except its label.

-- The document is the JSON of the run without samples, compressed by zstd; the other columns are
-- what the list of runs shows. A character NUL, which PostgreSQL does not store, is U+FFFD in them.
CREATE TABLE bytelab.run (
    id uuid PRIMARY KEY,
    experiment text NOT NULL,
    label text,
    started text NOT NULL,
    complete boolean NOT NULL,
    fingerprint text NOT NULL,
    cpu_model text,
    cells bigint NOT NULL,
    samples bigint NOT NULL,
    took_ns bigint,
    added timestamptz NOT NULL DEFAULT now(),
    document bytea NOT NULL
);

CREATE INDEX run_started ON bytelab.run (started, id);

-- The samples of a cell, metric by metric; none if it has no samples.
CREATE TABLE bytelab.cell (
    run uuid NOT NULL REFERENCES bytelab.run (id) ON DELETE CASCADE,
    position integer NOT NULL,
    answers text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (run, position)
);

-- Names for runs that others are checked against.
CREATE TABLE bytelab.baseline (
    name text PRIMARY KEY,
    run uuid NOT NULL REFERENCES bytelab.run (id)
);

-- It is compressed already.
ALTER TABLE bytelab.run ALTER COLUMN document SET STORAGE EXTERNAL;
ALTER TABLE bytelab.cell ALTER COLUMN data SET STORAGE EXTERNAL;
