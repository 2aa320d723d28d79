-- Roles for a server of `bytelab push`. Run this once as the owner of the tables, which the first
-- `bytelab push` or `bytelab history --store postgres://…` of the owner creates.

-- May read all runs.
CREATE ROLE bytelab_reader NOLOGIN;
GRANT USAGE ON SCHEMA bytelab TO bytelab_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA bytelab TO bytelab_reader;

-- May also add runs; it changes and deletes none, and adds nothing to one that is there. The time
-- of the server, in the column `added`, is not the writer's.
CREATE ROLE bytelab_writer NOLOGIN IN ROLE bytelab_reader;
GRANT INSERT (id, experiment, label, started, complete, fingerprint, cpu_model, cells, samples,
              took_ns, document, answers, data)
    ON bytelab.run TO bytelab_writer;

-- Labels, baselines and deletions are the owner's. For a person or a machine:
-- CREATE USER ada PASSWORD '…' IN ROLE bytelab_writer;
