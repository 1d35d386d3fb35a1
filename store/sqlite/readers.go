package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// readers is a pool of read connections of bounded size. A read has one connection to itself until it ends, and never
// asks for a second one: reads that each hold a connection and wait for another would deadlock.
type readers struct {
	db   *sql.DB
	size int
	free chan *reader

	mu       sync.Mutex
	underWay map[*reader]context.CancelCauseFunc
}

// reader is a connection with the statements that were prepared on it. It belongs to one goroutine at a time.
type reader struct {
	conn       *sql.Conn // nil until it is needed
	statements map[string]*sql.Stmt
}

func openReaders(source string, size int) (*readers, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	p := &readers{db: db, size: size, free: make(chan *reader, size), underWay: map[*reader]context.CancelCauseFunc{}}
	for range size {
		p.free <- &reader{}
	}
	return p, nil
}

// with calls read with a connection, and a context that ends with ctx, or sooner if endAll wants it. It waits for a
// connection until ctx ends.
func (p *readers) with(ctx context.Context, read func(context.Context, *reader) error) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var r *reader
	select {
	case r = <-p.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	reading, end := context.WithCancelCause(ctx)
	p.mu.Lock()
	p.underWay[r] = end
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.underWay, r)
		p.mu.Unlock()
		if err != nil && reading.Err() != nil {
			err = errors.Join(context.Cause(reading), err)
		}
		end(nil)
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
			_ = r.close() // it is broken: the next read opens another
		}
		p.free <- r
	}()
	if r.conn == nil {
		conn, err := p.db.Conn(reading)
		if err != nil {
			return err
		}
		r.conn, r.statements = conn, map[string]*sql.Stmt{}
	}
	return read(reading, r)
}

// endAll ends the reads that are under way.
func (p *readers) endAll(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.underWay {
		end(why)
	}
}

// close waits until no connection is in use, and closes all.
func (p *readers) close() (err error) {
	for range p.size {
		err = errors.Join(err, (<-p.free).close())
	}
	return errors.Join(err, p.db.Close())
}

func (r *reader) close() (err error) {
	for _, statement := range r.statements {
		err = errors.Join(err, statement.Close())
	}
	if r.conn != nil {
		err = errors.Join(err, r.conn.Close())
	}
	r.conn, r.statements = nil, nil
	return err
}

// list calls row for each row of the answer; what it scans into RawBytes is good until it returns.
func (r *reader) list(ctx context.Context, query string, args []any, row func(*sql.Rows) error) error {
	statement, kept := r.statements[query]
	if !kept {
		var err error
		if statement, err = r.conn.PrepareContext(ctx, query); err != nil {
			return err
		}
		r.statements[query] = statement
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := row(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (r *reader) texts(ctx context.Context, query string, args ...any) (texts []string, err error) {
	err = r.list(ctx, query, args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		texts = append(texts, text)
		return err
	})
	return texts, err
}

// snapshot is the database as it is at one moment, from its first read on.
type snapshot struct{ *reader }

// moment calls read with a snapshot.
func (s *Store) moment(ctx context.Context, read func(context.Context, *snapshot) error) error {
	return s.read(ctx, func(ctx context.Context, r *reader) (err error) {
		if _, err := r.conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
		defer func() {
			if _, failed := r.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); failed != nil { // it has only read
				err = errors.Join(err, failed, r.close())
			}
		}()
		return read(ctx, &snapshot{r})
	})
}

// list reads rows with a connection of their own: see reader.list.
func (s *Store) list(ctx context.Context, query string, args []any, row func(*sql.Rows) error) error {
	return s.read(ctx, func(ctx context.Context, r *reader) error { return r.list(ctx, query, args, row) })
}

func (s *Store) read(ctx context.Context, read func(context.Context, *reader) error) error {
	if err := s.refused(); err != nil {
		return err
	}
	return s.noticed(s.readers.with(ctx, read))
}
