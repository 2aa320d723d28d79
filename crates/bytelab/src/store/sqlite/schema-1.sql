-- Runs, their cells and the samples of these. Columns whose name begins with a plural hold JSON, and
-- so do environment, plan and point; the rest is as in the JSON of a run.

CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    schema INTEGER NOT NULL,
    experiment TEXT NOT NULL,
    question TEXT NOT NULL,
    label TEXT,
    started TEXT NOT NULL,
    complete INTEGER NOT NULL,
    environment TEXT NOT NULL,
    plan TEXT NOT NULL,
    points TEXT NOT NULL,
    notes TEXT NOT NULL
) STRICT;

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
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- n counts the samples of a run from 0, in the order in which they were taken. So a new sample
-- lands at the end of its run, and the last one tells how many there are.
CREATE TABLE sample (
    run INTEGER NOT NULL,
    n INTEGER NOT NULL,
    cell INTEGER NOT NULL,
    pass TEXT NOT NULL,
    session INTEGER NOT NULL,
    round INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    warm_up INTEGER NOT NULL,
    not_counted TEXT,
    ops INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    answer TEXT,
    metrics TEXT NOT NULL,
    PRIMARY KEY (run, n),
    FOREIGN KEY (run, cell) REFERENCES cell (run, position)
) STRICT, WITHOUT ROWID;
