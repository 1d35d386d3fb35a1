-- What is kept besides definitions and history: users, tokens, sessions, namespaces, secrets, the audit log. Its rows are
-- found by their key, and those that expire by when.
CREATE TABLE records (
	kind       TEXT NOT NULL,
	key        TEXT NOT NULL,
	revision   INTEGER NOT NULL,
	expires_at INTEGER,
	data       BLOB NOT NULL,
	PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX records_expiring ON records (expires_at) WHERE expires_at IS NOT NULL;
