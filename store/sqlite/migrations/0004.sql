-- What users wrote, byte by byte. It is the last column, and read of one definition only: a list never touches its pages.
ALTER TABLE jobs ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE generations ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE dags ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE dag_generations ADD COLUMN source TEXT NOT NULL DEFAULT '';
