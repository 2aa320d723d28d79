-- Every run has a UUID, by which it is known in all stores; those of runs that are stored already are
-- made when this step is taken.
ALTER TABLE run ADD COLUMN uuid TEXT;
CREATE UNIQUE INDEX run_uuid ON run (uuid);

-- Whether a server is to have the run and does not have it yet.
ALTER TABLE run ADD COLUMN unsent INTEGER NOT NULL DEFAULT 0;

DROP INDEX listed;
CREATE INDEX listed ON run (
    id, uuid, experiment, label, started, complete, fingerprint, cpu_model, cells, samples
);
