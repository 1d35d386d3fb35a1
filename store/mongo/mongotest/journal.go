package mongotest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// journal keeps the commands that change something in a file, each before it is done, so that a server which is killed
// begins again with all that it had acknowledged and what it remembers of retryable writes. A power cut may take what
// the system had not yet written to the disk.
type journal struct {
	path string

	mutex  sync.Mutex // commands are done in the order in which they stand in the file
	file   *os.File
	failed error // it could not be written, and what was written last may be torn
}

// changes are the commands that change something besides writes.
var changes = map[string]bool{
	"create": true, "drop": true, "dropDatabase": true, "createIndexes": true, "dropIndexes": true, "collMod": true,
}

// Names of what stands in a journal besides commands.
const (
	journalExpire = "mongotestExpire" // expired documents were removed, at its time
	journalAnswer = "mongotestAnswer" // the answer to a session's last retryable write
)

// snapshotBatch is how many documents a snapshot puts into one command at most, and snapshotBytes about how large they
// may be.
const snapshotBatch, snapshotBytes = 500, 4 << 20

// openJournal does again what stands in a file, and replaces the file by the shortest one that makes the same.
func (s *Server) openJournal(path string) (*journal, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		err := s.replay(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	fresh, err := os.Create(path + ".new")
	if err != nil {
		return nil, err
	}
	writer := bufio.NewWriterSize(fresh, 1<<20)
	if err := errors.Join(s.snapshot(writer), writer.Flush()); err != nil {
		return nil, errors.Join(err, fresh.Close())
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, errors.Join(err, fresh.Close())
	}
	return &journal{path: path, file: fresh}, nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.file.Close()
}

// do writes a command down and does it. Without a journal it does it.
func (j *journal) do(body bson.D, work func() (bson.Raw, error)) (bson.Raw, error) {
	if j == nil {
		return work()
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if err := j.append(body); err != nil {
		return nil, err
	}
	return work()
}

// append writes a whole document, or leaves a torn one that nothing follows: as MongoDB, the server must be started
// again then.
func (j *journal) append(document bson.D) error {
	if j.failed != nil {
		return j.failed
	}
	raw, err := encode(document)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(raw); err != nil {
		j.failed = fmt.Errorf("mongotest: write the journal: %w", err)
		return j.failed
	}
	return nil
}

// expired removes what is over, and writes down that it did.
func (j *journal) expired(now time.Time, remove func() (int, *engine.Error)) (int, error) {
	if j != nil {
		j.mutex.Lock()
		defer j.mutex.Unlock()
		if j.failed != nil {
			return 0, j.failed
		}
	}
	removed, failure := remove()
	switch {
	case failure != nil:
		return removed, failure
	case removed > 0 && j != nil:
		return removed, j.append(bson.D{{Key: journalExpire, Value: primitive.NewDateTimeFromTime(now)}})
	}
	return removed, nil
}

// replay does again what stands in a journal. Its end may be torn: that was never acknowledged.
func (s *Server) replay(from io.Reader) error {
	reader := bufio.NewReaderSize(from, 1<<20)
	for {
		head, err := reader.Peek(4)
		if err != nil {
			break
		}
		raw := make([]byte, binary.LittleEndian.Uint32(head))
		if _, err := io.ReadFull(reader, raw); err != nil {
			break
		}
		body, err := decode(raw)
		if err != nil {
			return err
		}
		if err := s.again(body); err != nil {
			return err
		}
	}
	_, err := reader.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// again does one thing that stands in a journal.
func (s *Server) again(body bson.D) error {
	request := requestOf(s, body, "")
	fields := reader{document: body}
	switch request.name {
	case journalExpire:
		at, _ := fields.value(journalExpire).(primitive.DateTime)
		_, failure := s.catalog.Expire(at.Time())
		if failure != nil {
			return failure
		}
		return nil
	case journalAnswer:
		id, _ := fields.value(journalAnswer).(primitive.Binary)
		reply, err := encode(fields.object("reply"))
		session := s.retries.session(string(id.Data))
		session.number, session.reply = fields.number("number", 0), reply
		return err
	}
	handle := handlers[request.name]
	if handle == nil {
		return fmt.Errorf("%q is no command", request.name)
	}
	work := func() (bson.Raw, error) { return encode(s.do(handle, request)) }
	if !writes[request.name] {
		_, err := work()
		return err
	}
	_, err := s.retries.once(request, work)
	return err
}

// snapshot writes commands that make all that there is, before anybody may change it.
func (s *Server) snapshot(to io.Writer) error {
	put := func(document bson.D) error {
		raw, err := encode(document)
		if err == nil {
			_, err = to.Write(raw)
		}
		return err
	}
	for _, database := range s.catalog.Databases() {
		for _, name := range s.catalog.Collections(database) {
			if err := snapshotOf(s.catalog.Lookup(database, name), database, name, put); err != nil {
				return err
			}
		}
	}
	for element := s.retries.order.Back(); element != nil; element = element.Prev() {
		one := element.Value.(*session)
		if one.reply == nil {
			continue
		}
		if err := put(bson.D{
			{Key: journalAnswer, Value: primitive.Binary{Subtype: 4, Data: []byte(one.id)}},
			{Key: "number", Value: one.number}, {Key: "reply", Value: fields(one.reply)},
		}); err != nil {
			return err
		}
	}
	return nil
}

func snapshotOf(collection *engine.Collection, database, name string, put func(bson.D) error) error {
	if err := put(bson.D{{Key: "create", Value: name}, {Key: "$db", Value: database}}); err != nil {
		return err
	}
	indexes := bson.A{}
	for _, spec := range collection.Indexes()[1:] { // that of _id is always there
		indexes = append(indexes, indexDocument(spec))
	}
	if len(indexes) > 0 {
		if err := put(bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: indexes}, {Key: "$db", Value: database}}); err != nil {
			return err
		}
	}
	filter, failure := engine.NewFilter(bson.D{})
	if failure != nil {
		return failure
	}
	documents, _, failure := collection.Find(filter, nil, 0, 0)
	if failure != nil {
		return failure
	}
	batch, size := bson.A{}, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := put(bson.D{{Key: "insert", Value: name}, {Key: "documents", Value: slices.Clone(batch)}, {Key: "$db", Value: database}})
		batch, size = batch[:0], 0
		return err
	}
	for _, document := range documents {
		raw, err := encode(document)
		if err != nil {
			return err
		}
		if batch, size = append(batch, raw), size+len(raw); len(batch) == snapshotBatch || size >= snapshotBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
