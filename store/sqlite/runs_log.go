package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"slices"
)

// Fields of a record of the log, which is a document of the form of wire.go.
const (
	recordRun  = 1 // the document of a run, as it is from here on
	recordGone = 2 // the id of a run that has ended or was dropped
)

// changedKept is how many runs may change in a transaction so that the next one uses the same memory.
const changedKept = 1024

// logSlack is how much of the log may be of no use before it is taken away, beyond as much as is of use.
const logSlack = 1 << 20

// logRow is a record in the table runs_log.
type logRow struct {
	seq  int64
	size int
	runs int // how many stand in it in their present form
}

// runsLog is how runs that have not ended are kept: each group of writes appends one record that says what has become
// of its runs. All records together, in their order, give activeRuns. A run that is scheduled, queued, started and ended
// within seconds so costs a few hundred bytes at the end of a file instead of changes all over several trees.
//
// Records go in the order in which they came: what is still of use in the oldest is written again at the end. So what
// says that a run is gone outlives what said that it was there. All belongs to the writer, except active.
type runsLog struct {
	active *activeRuns
	rows   []*logRow // the oldest first
	next   int64
	slack  int // logSlack
	size   int // of all records
	live   int // of the documents of active runs

	// The transaction that is under way.
	changed map[string]*runWrite // what happens to runs; nil for gone
	record  []byte
	dropped int // rows from the oldest on
}

func newRunsLog() *runsLog {
	return &runsLog{active: newActiveRuns(), next: 1, slack: logSlack, changed: map[string]*runWrite{}}
}

// get returns a run that has not ended, nil if there is none. The writer needs no lock to read what only it changes.
func (l *runsLog) get(id string) *runWrite {
	if run, changed := l.changed[id]; changed {
		return run
	}
	if found := l.active.byID[id]; found != nil {
		return found.run
	}
	return nil
}

// put keeps a run in the form that it has from here on.
func (l *runsLog) put(run *runWrite) {
	l.changed[run.id] = run
	if room := len(run.doc) + 2*binary.MaxVarintLen64; cap(l.record)-len(l.record) < room {
		l.record = slices.Grow(l.record, max(room, len(l.record))) // records of many runs are copied less often so
	}
	l.record = append(appendLength(l.record, recordRun, len(run.doc)), run.doc...)
}

func (l *runsLog) remove(id string) {
	l.changed[id] = nil
	l.record = appendText(l.record, recordGone, id)
}

// write appends the record of the transaction and takes away what is of no use any more.
func (l *runsLog) write(c *connection) error {
	if len(l.record) == 0 {
		return nil
	}
	size, enough := l.size, l.size-8*len(l.record)-l.slack // no transaction has to clear up after all before it
	for l.dropped < len(l.rows) && size+len(l.record) > 2*l.live+l.slack && size > enough {
		row := l.rows[l.dropped]
		if row.runs > 0 {
			if err := l.move(c, row); err != nil {
				return err
			}
		}
		size -= row.size
		l.dropped++
	}
	if l.dropped > 0 {
		if _, err := c.exec("DELETE FROM runs_log WHERE seq <= ?", l.rows[l.dropped-1].seq); err != nil {
			return err
		}
	}
	_, err := c.exec("INSERT INTO runs_log (seq, doc) VALUES (?, ?)", l.next, l.record)
	return err
}

// move writes again what stands in a row in its present form.
func (l *runsLog) move(c *connection, row *logRow) error {
	return c.query("SELECT doc FROM runs_log WHERE seq = ?", []any{row.seq}, func(values []driver.Value) error {
		record, _ := values[0].([]byte)
		return fields(record, func(field uint64, v value) error {
			if field != recordRun {
				return nil
			}
			id, err := documentID(v.bytes)
			if err != nil {
				return err
			}
			if _, changed := l.changed[id]; changed { // or moved already
				return nil
			}
			if entry := l.active.byID[id]; entry != nil && entry.row == row {
				l.put(entry.run)
			}
			return nil
		})
	})
}

// committed shows what the transaction has done.
func (l *runsLog) committed() {
	if len(l.record) == 0 {
		return
	}
	row := &logRow{seq: l.next, size: len(l.record)}
	l.next++
	for _, gone := range l.rows[:l.dropped] {
		l.size -= gone.size
	}
	clear(l.rows[:l.dropped])
	l.rows = append(l.rows[l.dropped:], row)
	l.size += row.size

	l.active.mu.Lock()
	for id, run := range l.changed {
		if before := l.active.byID[id]; before != nil {
			before.row.runs--
			l.live -= len(before.run.doc)
			if run == nil {
				l.active.remove(before.run)
			}
		}
		if run != nil {
			l.active.put(run, row)
			row.runs++
			l.live += len(run.doc)
		}
	}
	l.active.mu.Unlock()
	l.forget()
}

// forget ends the transaction.
func (l *runsLog) forget() {
	// A map keeps the size that it once had, and to look through it takes as long.
	if len(l.changed) > changedKept {
		l.changed = map[string]*runWrite{}
	}
	clear(l.changed)
	l.record, l.dropped = l.record[:0], 0
	if cap(l.record) > logSlack {
		l.record = nil
	}
}

// load reads the log of a file that is being opened.
func (l *runsLog) load(c *connection) error {
	type last struct {
		document []byte
		row      *logRow
	}
	runs := map[string]last{}
	err := c.query("SELECT seq, doc FROM runs_log ORDER BY seq", nil, func(values []driver.Value) error {
		record, _ := values[1].([]byte)
		row := &logRow{size: len(record)}
		row.seq, _ = values[0].(int64)
		l.rows, l.size, l.next = append(l.rows, row), l.size+row.size, row.seq+1
		return fields(record, func(field uint64, v value) error {
			switch field {
			case recordRun:
				id, err := documentID(v.bytes)
				if err != nil {
					return err
				}
				runs[id] = last{v.clone(), row}
			case recordGone:
				delete(runs, v.text())
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("read the runs that have not ended: %w", err)
	}
	entries := make([]*activeRun, 0, len(runs))
	for _, last := range runs {
		run, err := decodeRun(last.document)
		if err != nil {
			return fmt.Errorf("read the runs that have not ended: %w", err)
		}
		write := newRunWrite(&run, last.document)
		write.ended = true // perhaps
		entries = append(entries, &activeRun{run: write, row: last.row})
		last.row.runs++
		l.live += len(last.document)
	}
	l.active.fill(entries)
	return nil
}
