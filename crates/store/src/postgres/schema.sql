-- Runs of many machines. A run is one row, which is inserted as a whole and never changed, except
-- its label: who may insert rows cannot add anything to the run of somebody else. The checks limit
-- what a row may claim, so that the lists of all others stay short and sorted.

CREATE SCHEMA IF NOT EXISTS bytelab;

CREATE TABLE bytelab.version (version integer NOT NULL);
INSERT INTO bytelab.version (version) VALUES (1);

-- The document is the JSON of the run without samples, compressed by zstd. A cell has an element of
-- the arrays: its answers as JSON, and its samples, metric by metric, which are empty if it has
-- none. The other columns are what the list of runs shows. A character NUL, which PostgreSQL does
-- not store, is U+FFFD in them.
CREATE TABLE bytelab.run (
    id uuid PRIMARY KEY,
    experiment text NOT NULL CHECK (octet_length(experiment) <= 4000),
    label text CHECK (octet_length(label) <= 4000),
    started text COLLATE "C" NOT NULL CHECK (
        started ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$'
        AND started::timestamptz IS NOT NULL
    ),
    complete boolean NOT NULL,
    fingerprint text NOT NULL CHECK (octet_length(fingerprint) <= 4000),
    cpu_model text CHECK (octet_length(cpu_model) <= 4000),
    cells bigint NOT NULL,
    samples bigint NOT NULL CHECK (samples >= 0),
    took_ns bigint CHECK (took_ns >= 0),
    -- When the server got it, in the form of `started`.
    added text COLLATE "C" NOT NULL DEFAULT to_char(
        clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
    ),
    document bytea NOT NULL CHECK (octet_length(document) <= 1 << 26),
    answers text[] NOT NULL CHECK (octet_length(array_send(answers)) <= 1 << 27),
    data bytea[] NOT NULL CHECK (octet_length(array_send(data)) <= 1 << 29),
    CHECK (cells = cardinality(answers) AND cells = cardinality(data))
);

-- A run that claims to be of the future is not newer than those that come after it.
CREATE INDEX run_newest ON bytelab.run (LEAST(started, added), id);

-- Names for runs that others are checked against.
CREATE TABLE bytelab.baseline (
    name text PRIMARY KEY CHECK (octet_length(name) <= 1000),
    run uuid NOT NULL REFERENCES bytelab.run (id)
);

-- It is compressed already.
ALTER TABLE bytelab.run ALTER COLUMN document SET STORAGE EXTERNAL;
ALTER TABLE bytelab.run ALTER COLUMN data SET STORAGE EXTERNAL;
