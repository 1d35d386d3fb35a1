-- The latest slot of a scheduled task that is a run or in the ledger, what that was when the definition's present form was
-- planned, and the slots ahead that have a run already: a JSON list of milliseconds. What earlier versions left half done
-- is finished by upgrade_commits.go, so that the columns noting and writer can go.
ALTER TABLE scheduled_tasks ADD COLUMN accounted INTEGER;
ALTER TABLE scheduled_tasks ADD COLUMN since INTEGER;
ALTER TABLE scheduled_tasks ADD COLUMN taken BLOB;
-- Records of which wave of a DAG opened last: the waves themselves say so.
DELETE FROM scheduled_tasks WHERE substr(id, -2) = '-_';
