package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// tenure is who owns a shard, and how far its commits are.
type tenure struct {
	term     uint64 // 0: no engine has taken the shard yet
	began    uint64 // the position at which the owner took it
	position uint64 // of the last commit
}

// tenures holds that of each shard. They are one row, which is written once for a transaction, however many shards have
// commits in it. All belongs to the writer.
type tenures struct {
	stored  [engine.Shards]tenure
	present [engine.Shards]tenure // in the transaction that is under way
	changed bool
	doc     []byte // room
}

// take begins the next term of a shard.
func (s *tenures) take(shard int) engine.Term {
	now := &s.present[shard]
	now.term, now.began = now.term+1, now.position
	s.changed = true
	return engine.Term{Number: now.term, Position: now.position}
}

// move gives a shard the position of a commit. next is false without an error if it has it already: the commit was done,
// and the answer was lost.
func (s *tenures) move(c *shardWrite) (next bool, err error) {
	now := &s.present[c.shard]
	switch {
	case c.term != now.term:
		return false, fmt.Errorf("%w: it is in term %d", engine.ErrFenced, now.term)
	case c.position == now.position && c.position > now.began:
		return false, nil
	case c.position != now.position+1 || now.term == 0:
		return false, fmt.Errorf("its position does not follow %d", now.position)
	}
	now.position++
	s.changed = true
	return true, nil
}

// write writes what the transaction has changed.
func (s *tenures) write(c *connection) error {
	if !s.changed {
		return nil
	}
	s.doc = s.doc[:0]
	for _, now := range s.present {
		s.doc = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(s.doc, now.term), now.began), now.position)
	}
	_, err := c.exec("INSERT OR REPLACE INTO shards (id, doc) VALUES (1, ?)", s.doc)
	return err
}

// committed ends a transaction that is on the disk.
func (s *tenures) committed() {
	if s.changed {
		s.stored, s.changed = s.present, false
	}
}

// forget ends a transaction that was undone.
func (s *tenures) forget() {
	if s.changed {
		s.present, s.changed = s.stored, false
	}
}

// load reads the row of a file that is being opened.
func (s *tenures) load(c *connection) error {
	err := c.query("SELECT doc FROM shards", nil, func(values []driver.Value) error {
		document, _ := values[0].([]byte)
		for i := range s.present {
			for _, number := range []*uint64{&s.present[i].term, &s.present[i].began, &s.present[i].position} {
				var n int
				if *number, n = binary.Uvarint(document); n <= 0 {
					return errDocument
				}
				document = document[n:]
			}
		}
		return nil
	})
	s.stored = s.present
	if err != nil {
		return fmt.Errorf("read who owns the shards: %w", err)
	}
	return nil
}
