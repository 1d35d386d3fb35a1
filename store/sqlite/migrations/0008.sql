-- Who owns each shard, and how far its commits are (shards.go). It is not moved to another store: terms begin anew there.
CREATE TABLE shards (
    shard    INTEGER NOT NULL PRIMARY KEY,
    term     INTEGER NOT NULL,
    owner    TEXT    NOT NULL,
    began    INTEGER NOT NULL, -- the position at which the owner took it
    position INTEGER NOT NULL  -- of the last commit
) STRICT;
