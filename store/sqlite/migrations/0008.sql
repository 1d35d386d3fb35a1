-- Who owns the shards, and how far their commits are, in one row (shards.go). It is not moved to another store: terms begin
-- anew there.
CREATE TABLE shards (
    id  INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    doc BLOB    NOT NULL
) STRICT;
