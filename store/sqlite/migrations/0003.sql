-- DAGs are kept as jobs are.
CREATE TABLE dags (
    uid       TEXT    NOT NULL PRIMARY KEY,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    shard     INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    deleted   INTEGER NOT NULL,
    pending   INTEGER NOT NULL,
    doc       BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX dags_name ON dags (namespace, name) WHERE deleted = 0;
CREATE INDEX dags_pending ON dags (uid) WHERE pending = 1;

CREATE TABLE dag_generations (
    uid        TEXT    NOT NULL,
    generation INTEGER NOT NULL,
    doc        BLOB    NOT NULL,
    PRIMARY KEY (uid, generation)
) STRICT;

-- Documents are in the form of codec_schema10.go. A wave is open while its status is below 5. Its id begins with the DAG's
-- uid and '-', so that the open waves of a DAG are a range of ids.
CREATE TABLE waves (
    id          TEXT    NOT NULL PRIMARY KEY,
    revision    INTEGER NOT NULL,
    namespace   TEXT    NOT NULL,
    dag_uid     TEXT    NOT NULL,
    shard       INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER,
    doc         BLOB    NOT NULL
) STRICT;
CREATE INDEX waves_open ON waves (id) WHERE status < 5;
CREATE INDEX waves_epoch ON waves (dag_uid, epoch);
CREATE INDEX waves_dag ON waves (dag_uid, created_at, id, status);
CREATE INDEX waves_created ON waves (namespace, created_at, id, status);
CREATE INDEX waves_finished ON waves (finished_at) WHERE status >= 5;

ALTER TABLE scheduled_tasks ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

-- Runs of a DAG's tasks have the name of the DAG in the column job, and their key is their id as it is: so the runs of a
-- wave are two ranges of keys, and need no index of their own. Runs of jobs are in no index of tasks.
ALTER TABLE runs_history ADD COLUMN task TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_history_task ON runs_history (job_uid, task, created_at, id, status) WHERE task <> '';

-- Which DAGs with runs have had a name.
CREATE TABLE run_dags (
    dag       TEXT NOT NULL,
    namespace TEXT NOT NULL,
    dag_uid   TEXT NOT NULL,
    PRIMARY KEY (dag, namespace, dag_uid)
) STRICT, WITHOUT ROWID;
