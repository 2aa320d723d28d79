-- The samples of a cell lie together, a metric in one piece, so that a command reads only what it
-- shows. `packed.rs` describes the bytes. The table `sample` contains only runs that could not be
-- read when this step was taken.

-- What the list of runs shows, so that no other column is read for it.
ALTER TABLE run ADD COLUMN cells INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN samples INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN fingerprint TEXT;
ALTER TABLE run ADD COLUMN cpu_model TEXT;

UPDATE run SET
    cells = (SELECT coalesce(max(position) + 1, 0) FROM cell WHERE run = id),
    samples = (SELECT coalesce(max(n) + 1, 0) FROM sample WHERE run = id),
    fingerprint = CASE WHEN json_valid(environment) THEN environment ->> '$.fingerprint' END,
    cpu_model = CASE WHEN json_valid(environment) THEN environment ->> '$.cpu_model' END;

CREATE INDEX listed ON run (
    id, experiment, label, started, complete, fingerprint, cpu_model, cells, samples
);

-- Each text once; the bytes refer to them by number. Whether a method is right can be seen without
-- its samples. None: the cell has no samples.
ALTER TABLE cell ADD COLUMN answers TEXT;

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
