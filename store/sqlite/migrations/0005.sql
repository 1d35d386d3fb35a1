-- The effect ledger: what programs do once. Documents are JSON.
CREATE TABLE effects (
    run_id     TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    doc        BLOB    NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT;
CREATE INDEX effects_created ON effects (created_at, run_id);

-- Keys that all nodes share, by what they are for.
CREATE TABLE shared_keys (
    name TEXT NOT NULL PRIMARY KEY,
    key  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
