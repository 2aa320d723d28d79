-- Runs, their cells and the samples of these. Columns whose name begins with a plural hold JSON, and
-- so do environment, plan and point; the rest is as in the JSON of a run. Each row has a checksum, its
-- own or, for the samples, in the row of its cell: what was damaged on the device is not shown. What
-- each covers is in `checksums.rs`.

-- A run is known by its UUID in all stores. What the list of runs shows has columns of its own, so
-- that no other column is read for it. unsent: whether a server is to have the run and does not have
-- it yet. next_sample: the number of the sample that is taken next; damage of a journal leaves gaps.
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    schema INTEGER NOT NULL,
    experiment TEXT NOT NULL,
    question TEXT NOT NULL,
    label TEXT,
    started TEXT NOT NULL,
    complete INTEGER NOT NULL,
    environment TEXT NOT NULL,
    plan TEXT NOT NULL,
    points TEXT NOT NULL,
    notes TEXT NOT NULL,
    cells INTEGER NOT NULL DEFAULT 0,
    samples INTEGER NOT NULL DEFAULT 0,
    fingerprint TEXT NOT NULL,
    cpu_model TEXT,
    unsent INTEGER NOT NULL DEFAULT 0,
    next_sample INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX listed ON run (
    id, uuid, experiment, label, started, complete, fingerprint, cpu_model, cells, samples
);

-- answers: each text once; the bytes of the samples refer to them by number. Whether a method is
-- right can be seen without its samples. blocks: the checksum of the samples and that of each
-- metric. Both are NULL if the cell has no samples.
CREATE TABLE cell (
    run INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    method TEXT NOT NULL,
    about TEXT NOT NULL,
    role TEXT NOT NULL,
    language TEXT,
    point TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    digest TEXT,
    syscalls_by_name TEXT,
    answers TEXT,
    blocks TEXT,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- The samples of a cell lie together, a metric in one piece, so that a command reads only what it
-- shows. `packed.rs` describes the bytes.
CREATE TABLE cell_samples (
    run INTEGER NOT NULL,
    cell INTEGER NOT NULL,
    reasons TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, cell),
    FOREIGN KEY (run, cell) REFERENCES cell (run, position)
) STRICT;

CREATE TABLE cell_metric (
    run INTEGER NOT NULL,
    cell INTEGER NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run, cell, name),
    FOREIGN KEY (run, cell) REFERENCES cell (run, position)
) STRICT;

-- Names for runs that others are checked against.
CREATE TABLE baseline (
    name TEXT PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run (id),
    checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
