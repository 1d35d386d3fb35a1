ALTER TABLE scheduled_tasks DROP COLUMN noting;
ALTER TABLE scheduled_tasks DROP COLUMN writer;
