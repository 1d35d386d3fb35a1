package mongo

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// The journal holds what the owners of shards commit: one document for each shard and commit. Its _id is the shard and the
// position, so that an insert is both the atomic commit and the fence: of two writers of one position one is refused.
//
// What keeps the fence whole: an owner writes at the position after its last commit, and a take-over stands at just that
// position. So take-overs are not trimmed with the commits, which are deleted once they are projected: an owner that
// was suspended for days still meets the take-over that ended its term. The newest entry of a shard is never deleted, so
// that terms and positions never go back.
//
// An entry that is larger than Config.EntrySize has parts: 07-0000000000000012, 07-0000000000000012.0001, … They are
// written one after the other, and the last one, which says so, is the commit. An engine that takes the shard over before
// that puts its take-over where the next part would go: the parts before it are no commit then.

// The kinds of entries.
const (
	kindCommit   = "commit"
	kindTakeOver = "take-over"
)

// takeOversKept is how long take-overs stay. It is far longer than a process can stand still and continue.
const takeOversKept = 30 * 24 * time.Hour

// entryDocument is a document of journal.
type entryDocument struct {
	ID       string        `bson:"_id"` // entryID
	Shard    int           `bson:"shard"`
	Position int64         `bson:"position"`
	Part     int           `bson:"part,omitempty"`
	Last     bool          `bson:"last"` // of the parts
	Kind     string        `bson:"kind"`
	Term     int64         `bson:"term"`
	Owner    string        `bson:"owner"`
	Nonce    string        `bson:"nonce"` // of the term, recreated with each take-over: whose entry this is
	At       bson.DateTime `bson:"at"`

	// The documents, as they go to their collections.
	Runs      []bson.Raw `bson:"runs,omitempty"`
	Waves     []bson.Raw `bson:"waves,omitempty"`
	Tasks     []bson.Raw `bson:"scheduled_tasks,omitempty"`
	Slots     []bson.Raw `bson:"slots,omitempty"`
	Letters   []bson.Raw `bson:"dead_letters,omitempty"`
	Incidents []bson.Raw `bson:"incidents,omitempty"`

	DropRuns      []string `bson:"drop_runs,omitempty"`
	DropTasks     []string `bson:"drop_scheduled_tasks,omitempty"`
	DropLetters   []string `bson:"drop_dead_letters,omitempty"`
	DropIncidents []string `bson:"drop_incidents,omitempty"`

	Handled     []handledDocument `bson:"handled,omitempty"`
	HandledDAGs []handledDocument `bson:"handled_dags,omitempty"`
	Done        []doneDocument    `bson:"done,omitempty"`
}

type handledDocument struct {
	UID       string `bson:"uid"`
	Namespace string `bson:"namespace"`
	Name      string `bson:"name"`
	Revision  int64  `bson:"revision"`
}

type doneDocument struct {
	ID string        `bson:"id"`
	At bson.DateTime `bson:"at"`
}

// entryID is the _id of an entry's part. Ranges of ids are ranges of positions, and parts follow the first one.
func entryID(shard int, position uint64, part int) string {
	id := fmt.Sprintf("%s%016d", firstEntry(shard), position)
	if part > 0 {
		id += fmt.Sprintf(".%04d", part)
	}
	return id
}

// firstEntry is below all ids of a shard, and afterEntries above them.
func firstEntry(shard int) string   { return fmt.Sprintf("%02d-", shard) }
func afterEntries(shard int) string { return fmt.Sprintf("%02d.", shard) } // '.' follows '-'

// entriesOf is the condition that an entry is of a shard, from one position on and before another.
func entriesOf(shard int, from, before uint64) bson.D {
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: entryID(shard, from, 0)}, {Key: "$lt", Value: entryID(shard, before, 0)}}}}
}

// entry is a part on its way into the journal.
type entry struct {
	id, nonce string
	document  bson.Raw
}

func newEntry(d *entryDocument) entry { return entry{id: d.ID, nonce: d.Nonce, document: d.raw()} }

// raw returns an entry as the document that it is read from.
func (d *entryDocument) raw() bson.Raw {
	size := 256
	for _, documents := range [][]bson.Raw{d.Runs, d.Waves, d.Tasks, d.Slots, d.Letters, d.Incidents} {
		for _, document := range documents {
			size += len(document) + elementBytes
		}
	}
	b := builder{bytes: make([]byte, 0, size)}
	b.begin()
	b.text("_id", d.ID)
	b.number("shard", d.Shard)
	b.long("position", d.Position)
	b.someNumber("part", d.Part)
	b.flag("last", d.Last)
	b.text("kind", d.Kind)
	b.long("term", d.Term)
	b.text("owner", d.Owner)
	b.text("nonce", d.Nonce)
	b.date("at", instant(d.At))
	b.documents("runs", d.Runs)
	b.documents("waves", d.Waves)
	b.documents("scheduled_tasks", d.Tasks)
	b.documents("slots", d.Slots)
	b.documents("dead_letters", d.Letters)
	b.documents("incidents", d.Incidents)
	b.texts("drop_runs", d.DropRuns)
	b.texts("drop_scheduled_tasks", d.DropTasks)
	b.texts("drop_dead_letters", d.DropLetters)
	b.texts("drop_incidents", d.DropIncidents)
	b.handled("handled", d.Handled)
	b.handled("handled_dags", d.HandledDAGs)
	if len(d.Done) > 0 {
		b.array("done")
		for i, done := range d.Done {
			b.item(i)
			b.text("id", done.ID)
			b.date("at", instant(done.At))
			b.end()
		}
		b.end()
	}
	b.end()
	return b.bytes
}

func (b *builder) handled(key string, all []handledDocument) {
	if len(all) == 0 {
		return
	}
	b.array(key)
	for i, h := range all {
		b.item(i)
		b.text("uid", h.UID)
		b.text("namespace", h.Namespace)
		b.text("name", h.Name)
		b.long("revision", h.Revision)
		b.end()
	}
	b.end()
}

// splitter fills the parts of an entry.
type splitter struct {
	parts []*entryDocument
	limit int // bytes
	size  int // of the last part
	err   error
}

// newEntries returns the parts of a commit, each of at most limit bytes unless one document alone is larger. The same
// commit always has the same parts.
func newEntries(commit *engine.ShardCommit, term *term, limit int) ([]*entryDocument, error) {
	first := &entryDocument{
		ID: entryID(commit.Shard, commit.Position, 0), Shard: commit.Shard, Position: int64(commit.Position),
		Kind: kindCommit, Term: int64(commit.Term), Owner: term.owner, Nonce: term.nonce, At: date(time.Now()),
	}
	s := &splitter{parts: []*entryDocument{first}, limit: limit}
	s.puts(commit.Batch, first.Position)
	s.rest(commit.Batch)
	s.parts[len(s.parts)-1].Last = true
	return s.parts, s.err
}

// add puts something of so many bytes into the last part, or into a new one.
func (s *splitter) add(size int, into func(part *entryDocument)) {
	last := s.parts[len(s.parts)-1]
	if size += elementBytes; s.size > 0 && s.size+size > s.limit {
		last = &entryDocument{
			ID: entryID(last.Shard, uint64(last.Position), last.Part+1), Shard: last.Shard, Position: last.Position, Part: last.Part + 1,
			Kind: last.Kind, Term: last.Term, Owner: last.Owner, Nonce: last.Nonce, At: last.At,
		}
		s.parts, s.size = append(s.parts, last), 0
	}
	s.size += size
	into(last)
}

// elementBytes is what an element of an array has beside its value, at most.
const elementBytes = 12

func (s *splitter) put(what, id string, document any, err error, list func(*entryDocument) *[]bson.Raw) {
	raw, is := document.(bson.Raw)
	if !is && err == nil {
		raw, err = bson.Marshal(document)
	}
	if err != nil {
		s.err = fmt.Errorf("%s %s: %w", what, id, err)
		return
	}
	s.add(len(raw), func(part *entryDocument) {
		to := list(part)
		*to = append(*to, raw)
	})
}

func (s *splitter) puts(d *engine.Batch, position int64) {
	for i := range d.Runs {
		document, err := writeRun(&d.Runs[i], position)
		s.put("run", d.Runs[i].ID, document, err, func(e *entryDocument) *[]bson.Raw { return &e.Runs })
	}
	for i := range d.Waves {
		document, err := newWaveDocument(&d.Waves[i])
		if err == nil {
			document.Position = position
		}
		s.put("wave", d.Waves[i].ID, document, err, func(e *entryDocument) *[]bson.Raw { return &e.Waves })
	}
	for i := range d.Tasks {
		s.put("scheduled task", d.Tasks[i].ID, writeTask(&d.Tasks[i], position), nil, func(e *entryDocument) *[]bson.Raw { return &e.Tasks })
	}
	for i := range d.Slots {
		document := newSlotDocument(&d.Slots[i])
		document.Position = position
		s.put("slots", document.ID, document, nil, func(e *entryDocument) *[]bson.Raw { return &e.Slots })
	}
	for i := range d.DeadLetters {
		document := newLetterDocument(&d.DeadLetters[i])
		document.Position = position
		s.put("dead letter", document.ID, document, nil, func(e *entryDocument) *[]bson.Raw { return &e.Letters })
	}
	for i := range d.Incidents {
		document := newIncidentDocument(&d.Incidents[i])
		document.Position = position
		s.put("incident", document.ID, document, nil, func(e *entryDocument) *[]bson.Raw { return &e.Incidents })
	}
}

// rest adds what is no document.
func (s *splitter) rest(d *engine.Batch) {
	for _, drop := range []struct {
		ids  []string
		list func(*entryDocument) *[]string
	}{
		{d.DropRuns, func(e *entryDocument) *[]string { return &e.DropRuns }},
		{d.DropTasks, func(e *entryDocument) *[]string { return &e.DropTasks }},
		{d.DropLetters, func(e *entryDocument) *[]string { return &e.DropLetters }},
		{d.DropIncidents, func(e *entryDocument) *[]string { return &e.DropIncidents }},
	} {
		for _, id := range drop.ids {
			s.add(len(id), func(part *entryDocument) {
				to := drop.list(part)
				*to = append(*to, id)
			})
		}
	}
	const numbers = 64 // bytes of a handled definition or a done command beside its texts
	for _, h := range d.Handled {
		s.add(len(h.UID+h.Namespace+h.Name)+numbers, func(part *entryDocument) { part.Handled = append(part.Handled, handledDocument(h)) })
	}
	for _, h := range d.HandledDAGs {
		s.add(len(h.UID+h.Namespace+h.Name)+numbers, func(part *entryDocument) {
			part.HandledDAGs = append(part.HandledDAGs, handledDocument(h))
		})
	}
	for _, done := range d.Done {
		s.add(len(done.ID)+numbers, func(part *entryDocument) { part.Done = append(part.Done, doneDocument{done.ID, date(done.At)}) })
	}
}
