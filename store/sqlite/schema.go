package sqlite

import (
	"embed"
	"fmt"
	"strconv"
)

// applicationID marks a file as a database of Tidewheel: "TiWh".
const applicationID = 0x54695768

//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion is the number of the last migration.
const schemaVersion = 8

// migrate brings the file to the present schema, each step whole or not at all.
func migrate(c *connection, path string) error {
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
		text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", version))
		if err != nil {
			return fmt.Errorf("sqlite: migrate %s: %w", path, err)
		}
		script := "BEGIN IMMEDIATE;\n" + string(text) + "\nPRAGMA application_id = " + strconv.Itoa(applicationID) +
			";\nPRAGMA user_version = " + strconv.Itoa(version) + ";\nCOMMIT;"
		if err := c.script(script); err != nil {
			_, _ = c.exec("ROLLBACK") // there may be nothing left to roll back
			return wrap(fmt.Sprintf("migrate %s to schema %d", path, version), err)
		}
	}
	return nil
}
