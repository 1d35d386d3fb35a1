-- Runs that have not ended are kept as a log of records (runs_log.go); the program holds them in memory.
CREATE TABLE runs_log (
    seq INTEGER NOT NULL PRIMARY KEY,
    doc BLOB    NOT NULL
) STRICT;
INSERT INTO runs_log (doc) SELECT tidewheel_record(doc) FROM runs_active;
DROP TABLE runs_active;

-- Retention goes by the order of history instead: what has ended before an instant was made before it.
DROP INDEX runs_history_finished;
