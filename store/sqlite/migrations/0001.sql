-- Instants are milliseconds since 1970 in UTC; NULL is the zero time. Documents of runs are in the form of codec_schema10.go,
-- all others are JSON.

-- Runs that have not ended. id begins with the job's uid and '-', so that a job's runs are a range of ids.
CREATE TABLE runs_active (
    id         TEXT    NOT NULL PRIMARY KEY,
    revision   INTEGER NOT NULL,
    namespace  TEXT    NOT NULL,
    job_uid    TEXT    NOT NULL,
    job        TEXT    NOT NULL,
    shard      INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    tier       TEXT    NOT NULL,
    "by"       TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    doc        BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_active_created ON runs_active (created_at, id);
CREATE INDEX runs_active_status ON runs_active (status, created_at, id) WHERE status IN (3, 4);

-- Runs that have ended. Rows are appended in the order in which they end; every index is paid for by every run.
CREATE TABLE runs_history (
    id          TEXT    NOT NULL PRIMARY KEY,
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
CREATE INDEX runs_history_created ON runs_history (namespace, created_at, id, status, tier);
CREATE INDEX runs_history_job ON runs_history (job_uid, created_at, id, status);
CREATE INDEX runs_history_finished ON runs_history (finished_at);
-- What most runs are (succeeded, light, by schedule) is left out of these.
CREATE INDEX runs_history_status ON runs_history (namespace, status, created_at, id) WHERE status <> 5;
CREATE INDEX runs_history_tier ON runs_history (namespace, tier, created_at, id) WHERE tier <> 'light';
CREATE INDEX runs_history_by ON runs_history ("by", created_at, id) WHERE "by" <> '';

-- Which jobs with runs have had a name.
CREATE TABLE run_names (
    job       TEXT NOT NULL,
    namespace TEXT NOT NULL,
    job_uid   TEXT NOT NULL,
    PRIMARY KEY (job, namespace, job_uid)
) STRICT, WITHOUT ROWID;

-- The namespaces of runs.
CREATE TABLE run_namespaces (namespace TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE scheduled_tasks (
    id         TEXT    NOT NULL PRIMARY KEY,
    shard      INTEGER NOT NULL,
    slot       INTEGER,
    run_at     INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    namespace  TEXT    NOT NULL,
    job        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX scheduled_tasks_run_at ON scheduled_tasks (run_at, shard, namespace);

CREATE TABLE jobs (
    uid       TEXT    NOT NULL PRIMARY KEY,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    shard     INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    deleted   INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    doc       BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX jobs_name ON jobs (namespace, name) WHERE deleted = 0;
CREATE INDEX jobs_pending ON jobs (uid) WHERE pending = 1;

CREATE TABLE generations (
    uid        TEXT    NOT NULL,
    generation INTEGER NOT NULL,
    doc        BLOB    NOT NULL,
    PRIMARY KEY (uid, generation)
) STRICT;

CREATE TABLE commands (
    id    TEXT    NOT NULL PRIMARY KEY,
    shard INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    doc   BLOB    NOT NULL
) STRICT;
CREATE INDEX commands_at ON commands (at, id);

CREATE TABLE slots (
    id      TEXT    NOT NULL PRIMARY KEY,
    job_uid TEXT    NOT NULL,
    from_at INTEGER NOT NULL,
    to_at   INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    doc     BLOB    NOT NULL
) STRICT;
CREATE INDEX slots_job ON slots (job_uid, from_at, id, to_at);
CREATE INDEX slots_to ON slots (to_at);

CREATE TABLE dead_letters (
    run_id    TEXT    NOT NULL PRIMARY KEY,
    namespace TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    doc       BLOB    NOT NULL
) STRICT;
CREATE INDEX dead_letters_at ON dead_letters (namespace, at, run_id);

CREATE TABLE binaries (
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    doc       BLOB    NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT;
