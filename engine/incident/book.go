package incident

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wheel"
	"github.com/tidewheel/tidewheel/spec"
)

// Outlet takes what a Book decides.
type Outlet struct {
	// Changed has an entry written. It is called once for all changes until Collect.
	Changed func(*Entry)
	// Notify sends the notifier an incident that is durable: its beginning, or its end where Over is set.
	Notify func(engine.Incident)
}

// Book holds the incidents of one shard. It belongs to one goroutine.
type Book struct {
	outlet  Outlet
	now     time.Time
	entries map[string][]*Entry // by the uid of the job or DAG
	wheel   *wheel.Wheel[*Entry]
}

// NewBook makes an empty book. now is the wall clock.
func NewBook(now time.Time, outlet Outlet) *Book {
	return &Book{outlet: outlet, now: now, entries: map[string][]*Entry{}, wheel: wheel.New[*Entry](now)}
}

// Next is when Advance must be called again at the latest; false when nothing is planned.
func (b *Book) Next() (time.Time, bool) { return b.wheel.Next() }

// At sets the time of what follows. now is the wall clock and may jump either way.
func (b *Book) At(now time.Time) { b.now = now }

// Has reports whether there may be an incident of a job or DAG, or of a task of it.
func (b *Book) Has(uid string) bool { return b.entries[uid] != nil }

// Tasks returns the names of the tasks of a DAG that may have incidents, some more than once.
func (b *Book) Tasks(uid string) (names []string) {
	for _, e := range b.entries[uid] {
		if e.Task != "" {
			names = append(names, e.Task)
		}
	}
	return names
}

// Forget forgets what was dropped, once that is durable.
func (b *Book) Forget(dropped []string) {
	for _, id := range dropped {
		uid := engine.RunJob(id)
		left := slices.DeleteFunc(b.entries[uid], func(e *Entry) bool { return !e.current && !e.dirty && !e.stored })
		if b.entries[uid] = left; len(left) == 0 {
			delete(b.entries, uid)
		}
	}
}

// find returns the entry of a subject, nil if there is none.
func (b *Book) find(s *Subject, alert spec.Alert) *Entry {
	for _, e := range b.entries[s.UID] {
		if e.Alert == alert && e.Task == s.Task {
			return e
		}
	}
	return nil
}

// entry is find, and makes one that is empty.
func (b *Book) entry(s *Subject, alert spec.Alert) *Entry {
	e := b.find(s, alert)
	if e == nil {
		e = &Entry{Incident: engine.Incident{ID: engine.IncidentID(s.UID, s.Task, alert), UID: s.UID, Task: s.Task, Alert: alert}}
		b.entries[s.UID] = append(b.entries[s.UID], e)
	}
	return e
}

// touch has an entry written, after it has ended what needs no more notifications.
func (b *Book) touch(e *Entry) {
	if !e.dirty {
		e.dirty = true
		b.outlet.Changed(e)
	}
	b.endIfNotified(e)
}

// endIfNotified ends an incident that is over and of whose end no user asked to be notified.
func (b *Book) endIfNotified(e *Entry) {
	if e.current && e.Count > 0 && e.notifying == notifyNothing && e.Notified && !e.Over.IsZero() && !e.Recovered {
		b.done(e)
	}
}

// done ends an incident whose notifications were all sent: one that has begun since takes its place.
func (b *Book) done(e *Entry) {
	if e.Next == nil {
		b.drop(e)
		return
	}
	revision := e.Revision
	e.Incident = *e.Next
	e.Revision = revision
	b.touch(e)
	if e.Count == 0 {
		b.wakeAt(e, e.Since)
	}
}

// drop removes an incident that needs no more notifications.
func (b *Book) drop(e *Entry) {
	b.wheel.Cancel(e.timer)
	*e = Entry{
		Incident: engine.Incident{ID: e.ID, Revision: e.Revision, UID: e.UID, Task: e.Task, Alert: e.Alert},
		stored:   e.stored, dirty: e.dirty,
	}
	b.touch(e)
}

func (b *Book) wakeAt(e *Entry, at time.Time) {
	b.wheel.Cancel(e.timer)
	e.timer = b.wheel.Schedule(at, e)
}
