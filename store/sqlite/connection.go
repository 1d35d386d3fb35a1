package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
)

// connection is a connection for one goroutine that keeps its prepared statements. It goes past database/sql, which
// costs as much as a small statement does.
type connection struct {
	conn       driver.Conn
	statements map[string]driver.Stmt
	values     []driver.NamedValue
}

// source names a file with the pragmas of a connection to it.
func source(path string, pragmas ...string) string {
	query := url.Values{"_pragma": pragmas, "_error_rc": {"1"}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

func connect(source string) (*connection, error) {
	db, err := sql.Open("sqlite", source) // which opens nothing; only the driver that is registered has our functions
	if err != nil {
		return nil, err
	}
	conn, err := db.Driver().Open(source)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return &connection{conn: conn, statements: map[string]driver.Stmt{}}, nil
}

func (c *connection) close() error {
	var errs []error
	for _, statement := range c.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

func (c *connection) prepare(query string, args []any) (driver.Stmt, error) {
	c.values = c.values[:0]
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			arg = int64(v)
		case int64, string, []byte, nil:
		default:
			return nil, fmt.Errorf("argument %d has the type %T", i+1, v)
		}
		c.values = append(c.values, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	if statement, found := c.statements[query]; found {
		return statement, nil
	}
	statement, err := c.conn.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	c.statements[query] = statement
	return statement, nil
}

// exec does one statement and returns how many rows it has changed.
func (c *connection) exec(query string, args ...any) (int64, error) {
	statement, err := c.prepare(query, args)
	if err != nil {
		return 0, err
	}
	result, err := statement.(driver.StmtExecContext).ExecContext(context.Background(), c.values)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// script does many statements that are not kept.
func (c *connection) script(text string) error {
	_, err := c.conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

// query calls row for each row of the answer; it may keep the values but not the slice.
func (c *connection) query(query string, args []any, row func(values []driver.Value) error) error {
	statement, err := c.prepare(query, args)
	if err != nil {
		return err
	}
	rows, err := statement.(driver.StmtQueryContext).QueryContext(context.Background(), c.values)
	if err != nil {
		return err
	}
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return rows.Close()
		case err != nil:
			return errors.Join(err, rows.Close())
		}
		if err := row(values); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// number asks for a single number.
func (c *connection) number(query string, args ...any) (n int64, err error) {
	err = c.query(query, args, func(values []driver.Value) error {
		n, _ = values[0].(int64)
		return nil
	})
	return n, err
}
