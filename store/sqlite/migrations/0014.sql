-- Until when the last pause of a schedule went, and the slots of a root that are caught up and wait for their turn.
ALTER TABLE scheduled_tasks ADD COLUMN paused_until INTEGER;
ALTER TABLE scheduled_tasks ADD COLUMN waiting BLOB;
