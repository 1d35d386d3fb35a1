-- Which engine wrote a scheduled task last, where several share a store: 0 in this one, but what is moved here keeps it.
ALTER TABLE scheduled_tasks ADD COLUMN writer INTEGER NOT NULL DEFAULT 0;
