-- Which jobs and DAGs have a retention of their own: few, and retention asks for them every ten minutes.
ALTER TABLE jobs ADD COLUMN retains INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dags ADD COLUMN retains INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_retains ON jobs (namespace, name) WHERE retains = 1 AND deleted = 0;
CREATE INDEX dags_retains ON dags (namespace, name) WHERE retains = 1 AND deleted = 0;
