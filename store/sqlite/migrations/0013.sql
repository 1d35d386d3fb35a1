-- What is wrong with jobs, DAGs and tasks that people asked to be told of. Few at any time: an incident that is over is removed
-- once its end is told. began is NULL while one lies ahead.
CREATE TABLE incidents (
	id        TEXT PRIMARY KEY,
	shard     INTEGER NOT NULL,
	namespace TEXT NOT NULL,
	began     INTEGER,
	doc       TEXT NOT NULL
);
CREATE INDEX incidents_shard ON incidents (shard, id);
CREATE INDEX incidents_began ON incidents (namespace, began, id) WHERE began IS NOT NULL;
