-- What a scheduled task has passed over, while the ledger may not say it yet: JSON.
ALTER TABLE scheduled_tasks ADD COLUMN noting BLOB;
