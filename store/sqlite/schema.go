package sqlite

import (
	"embed"
	"fmt"
	"log/slog"
	"time"
)

// applicationID marks a file as a database of Tidewheel: "TiWh".
const applicationID = 0x54695768

//go:embed migrations/*.sql
var migrations embed.FS

// SchemaVersion is that of the databases that this version writes.
const SchemaVersion = schemaVersion

// schemaVersion is the number of the last migration.
const schemaVersion = 15

// upgrades are the parts of migrations, by their numbers, that SQL cannot do: each comes after its script.
var upgrades = map[int]func(c *connection, now time.Time) error{9: upgradeCommits}

// migrate brings the file to the present schema, each step whole or not at all.
func migrate(c *connection, path string, logger *slog.Logger) error {
	application, err := c.number("PRAGMA application_id")
	if err != nil {
		return explain(path, err)
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return explain(path, err)
	}
	if application != applicationID && (application != 0 || tables > 0) {
		return fmt.Errorf("%s is a database of another program: choose another --data folder", path)
	}
	found, err := c.number("PRAGMA user_version")
	if err != nil {
		return explain(path, err)
	}
	if found > schemaVersion {
		return &NewerError{Path: path, Found: int(found), Known: schemaVersion}
	}
	for version := int(found) + 1; version <= schemaVersion; version++ {
		if err := c.step(version); err != nil {
			_, _ = c.exec("ROLLBACK") // there may be nothing left to roll back
			return wrap(fmt.Sprintf("migrate %s to schema %d", path, version), err)
		}
	}
	if found > 0 && found < schemaVersion {
		logger.Info("the database was brought forward; earlier versions refuse it from now on", "path", path, "from", found, "to", schemaVersion)
	}
	return nil
}

// step does one migration. When it fails, its transaction is still to be undone.
func (c *connection) step(version int) error {
	text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", version))
	if err != nil {
		return err
	}
	if err := c.script("BEGIN IMMEDIATE;\n" + string(text)); err != nil {
		return err
	}
	if upgrade := upgrades[version]; upgrade != nil {
		if err := upgrade(c, time.Now()); err != nil {
			return err
		}
	}
	return c.script(fmt.Sprintf("PRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;", applicationID, version))
}
