-- Runs that have not ended are kept as a log of records (runs_log.go); the program holds them in memory.
CREATE TABLE runs_log (
    seq INTEGER NOT NULL PRIMARY KEY,
    doc BLOB    NOT NULL
) STRICT;
INSERT INTO runs_log (doc) SELECT tidewheel_record(doc) FROM runs_active;
DROP TABLE runs_active;

-- A run is found by its id turned round (turned() in runs_write.go): runs of about the same time then stand on the same
-- pages, whatever job they are of, and writing them touches few. There is no index of finished_at any more: retention
-- goes by the order of history, because what has ended before an instant was made before it.
CREATE TABLE runs_ended (
    turned      TEXT    NOT NULL PRIMARY KEY,
    id          TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    namespace   TEXT    NOT NULL,
    job_uid     TEXT    NOT NULL,
    job         TEXT    NOT NULL,
    status      INTEGER NOT NULL,
    tier        TEXT    NOT NULL,
    "by"        TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER,
    doc         BLOB    NOT NULL
) STRICT;
INSERT INTO runs_ended
    SELECT substr(id, instr(id, '-') + 1) || '-' || substr(id, 1, instr(id, '-') - 1), id, revision, namespace, job_uid, job, status, tier, "by", reason,
        created_at, finished_at, doc
    FROM runs_history ORDER BY rowid;
DROP TABLE runs_history;
ALTER TABLE runs_ended RENAME TO runs_history;
CREATE INDEX runs_history_created ON runs_history (namespace, created_at, id, status, tier);
CREATE INDEX runs_history_job ON runs_history (job_uid, created_at, id, status);
CREATE INDEX runs_history_status ON runs_history (namespace, status, created_at, id) WHERE status <> 5;
CREATE INDEX runs_history_tier ON runs_history (namespace, tier, created_at, id) WHERE tier <> 'light';
CREATE INDEX runs_history_by ON runs_history ("by", created_at, id) WHERE "by" <> '';
