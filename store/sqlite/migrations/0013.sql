-- What is wrong with jobs, DAGs and tasks that people asked to be told of. Few at any time: an incident that is over is removed
-- once its end is told.
CREATE TABLE incidents (
	id    TEXT PRIMARY KEY,
	shard INTEGER NOT NULL,
	doc   TEXT NOT NULL
);
CREATE INDEX incidents_shard ON incidents (shard, id);
