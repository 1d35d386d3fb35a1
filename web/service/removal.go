package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
)

const (
	kindRemovals = "removals" // records, by namespace and id
	// UndoFor is how long a deletion that was asked for on a page can be taken back.
	UndoFor = 10 * time.Second
	// removalsLooked is how often removals are looked for that another server has left.
	removalsLooked = 15 * time.Second
	// removalTakes is after how long a removal that was begun is begun again: its server has ended.
	removalTakes = 2 * time.Minute
	// removalKept is how long the outcome of a removal is kept.
	removalKept = 5 * time.Minute
	// mostRemovals is how many removals are looked at at a time.
	mostRemovals = 1000
)

// Removed is what a removal removes.
type Removed string

// What can be removed so that it can be taken back.
const (
	RemovedJobs        Removed = "jobs"
	RemovedDAGs        Removed = "dags"
	RemovedBinaries    Removed = "binaries"
	RemovedDeadLetters Removed = "dead-letters"
)

// Removal is a deletion that a user has asked for. The server carries it out at Due, whether the user's page is still open or not; until
// then nothing has changed, and the user may take it back.
type Removal struct {
	ID        string  `json:"id"`
	Namespace string  `json:"namespace"`
	By        string  `json:"by"`
	What      Removed `json:"what"`
	// Names are those of definitions and binaries, or the ids of the runs of dead letters.
	Names []string `json:"names"`
	// Made tells each of Names from what may have the name by then: the uid of a definition, the revision of a binary, the time of a dead
	// letter.
	Made []string `json:"made,omitempty"`

	Due   time.Time    `json:"due"`
	Begun time.Time    `json:"begun,omitzero"`
	Ended bool         `json:"ended,omitempty"`
	Not   []NotRemoved `json:"not,omitempty"` // what of it was not removed, once it has ended
}

// NotRemoved is a thing that could not be removed, and why.
type NotRemoved struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Waiting reports whether it can be taken back.
func (r *Removal) Waiting() bool { return r.Begun.IsZero() }

func (r *Removal) key() string { return r.Namespace + "/" + r.ID }

// removals wakes the loop that carries them out.
type removals struct {
	once sync.Once
	wake chan struct{}
}

func (r *removals) woken() chan struct{} {
	r.once.Do(func() { r.wake = make(chan struct{}, 1) })
	return r.wake
}

// Remove has the server delete things in UndoFor: definitions and binaries by their names, dead letters by the ids of their runs. What
// cannot be deleted now is refused now, and then none is; of several those that are gone already are left out.
func (s *Service) Remove(ctx context.Context, namespace, by string, what Removed, names []string) (Removal, error) {
	removal := Removal{ID: NewUID(), Namespace: namespace, By: by, What: what, Due: s.now().Add(UndoFor)}
	for _, name := range names {
		made, noun, err := s.removable(ctx, namespace, what, name)
		known, is := errors.AsType[*Error](err)
		switch {
		case is && known.Kind == KindNotFound && len(names) > 1:
			continue // it is gone already
		case err != nil:
			return Removal{}, err
		}
		removal.Names, removal.Made = append(removal.Names, name), append(removal.Made, made)
		audit.Describe(ctx, namespace, audit.Change{What: noun + " " + name, Before: "kept", After: "to be deleted at " + removal.Due.Format(time.RFC3339)})
	}
	if len(removal.Names) == 0 {
		return Removal{}, &Error{Kind: KindNotFound, Code: "nothing_to_remove", Detail: "all of these are gone already"}
	}
	err := writeRecord(ctx, s.store, engine.Record{Kind: kindRemovals, Key: removal.key()}, &removal)
	if err != nil {
		return Removal{}, fmt.Errorf("keep what is to be deleted: %w", err)
	}
	select {
	case s.removals.woken() <- struct{}{}:
	default: // it is about to look
	}
	return removal, nil
}

// removable returns what tells a thing from a later one of its name, and an error if it could not be deleted now.
func (s *Service) removable(ctx context.Context, namespace string, what Removed, name string) (made, noun string, err error) {
	switch what {
	case RemovedJobs:
		job, err := s.Jobs.Get(ctx, namespace, name)
		return job.UID, "job", err
	case RemovedDAGs:
		dag, err := s.DAGs.Get(ctx, namespace, name)
		return dag.UID, "DAG", err
	case RemovedBinaries:
		binary, err := s.unusedBinary(ctx, namespace, name)
		return strconv.FormatInt(binary.Revision, 10), "binary", err
	case RemovedDeadLetters:
		letter, err := s.DeadLetter(ctx, namespace, name)
		return letter.At.Format(time.RFC3339Nano), "dead letter", err
	}
	return "", "", fmt.Errorf("%q cannot be removed", what)
}

// Removal returns one of a user's in a namespace.
func (s *Service) Removal(ctx context.Context, namespace, by, id string) (Removal, error) {
	record, removal, err := readRecord[Removal](ctx, s.store, kindRemovals, namespace+"/"+id)
	if err == nil && (record.Revision == 0 || removal.By != by) {
		return Removal{}, &Error{Kind: KindNotFound, Code: "removal_not_found", Detail: "this deletion was done or taken back a while ago"}
	}
	return removal, err
}

// Undo takes a deletion back; not once it has begun.
func (s *Service) Undo(ctx context.Context, namespace, by, id string) (Removal, error) {
	removal, err := s.Removal(ctx, namespace, by, id)
	if err != nil {
		return Removal{}, err
	}
	const waiting = 1 // the revision of a removal that has not begun
	err = s.store.DeleteRecord(ctx, kindRemovals, removal.key(), waiting)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return Removal{}, conflict("too_late", "it is too late to undo this: it is being deleted, or is deleted already")
	}
	if err != nil {
		return Removal{}, fmt.Errorf("take a deletion back: %w", err)
	}
	for _, name := range removal.Names {
		audit.Describe(ctx, namespace, audit.Change{What: string(removal.What) + " " + name, Before: "to be deleted", After: "kept"})
	}
	return removal, nil
}

// Removing returns the names of those that are about to be deleted in a namespace.
func (s *Service) Removing(ctx context.Context, namespace string, what Removed) (map[string]bool, error) {
	list, err := s.removalsOf(ctx, namespace+"/")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, one := range list {
		if one.held.What == what && !one.held.Ended {
			for _, name := range one.held.Names {
				names[name] = true
			}
		}
	}
	return names, nil
}

// storedRemoval is a removal with the record that holds it.
type storedRemoval struct {
	record engine.Record
	held   Removal
}

func (s *Service) removalsOf(ctx context.Context, prefix string) ([]storedRemoval, error) {
	records, err := s.store.Records(ctx, engine.RecordFilter{Kind: kindRemovals, Prefix: prefix, Limit: mostRemovals})
	if err != nil {
		return nil, fmt.Errorf("look for what is to be deleted: %w", err)
	}
	list := make([]storedRemoval, len(records))
	for i := range records {
		list[i].record = records[i]
		if err := json.Unmarshal(records[i].Data, &list[i].held); err != nil {
			return nil, fmt.Errorf("read what is to be deleted: %s: %w", records[i].Key, err)
		}
	}
	return list, nil
}

// RunRemovals carries out removals when they are due, until ctx ends: those of this server, and those that another has left behind.
func (s *Service) RunRemovals(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.removals.woken():
		case <-timer.C:
		}
		next, err := s.CarryOutRemovals(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("deleting what users asked for failed: it is tried again", "error", err)
		}
		timer.Reset(next)
	}
}

// CarryOutRemovals does what is due, and returns after how long to look again.
func (s *Service) CarryOutRemovals(ctx context.Context) (next time.Duration, err error) {
	next = removalsLooked
	list, err := s.removalsOf(ctx, "")
	if err != nil {
		return next, err
	}
	for _, one := range list {
		removal := &one.held
		due := removal.Due
		switch {
		case removal.Ended:
			continue
		case !removal.Waiting():
			due = removal.Begun.Add(removalTakes)
		}
		if wait := due.Sub(s.now()); wait > 0 {
			next = min(next, wait)
			continue
		}
		if failed := s.removeNow(ctx, one.record, *removal); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return next, err
}

// removeNow deletes what a removal names. It is begun by one server alone, and is ended even if the server stops meanwhile.
func (s *Service) removeNow(ctx context.Context, record engine.Record, removal Removal) error {
	removal.Begun = s.now()
	err := writeRecord(ctx, s.store, record, &removal)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return nil // it was taken back, or another server has begun it
	}
	if err != nil {
		return fmt.Errorf("begin to delete %s: %w", removal.What, err)
	}
	record.Revision++
	within, changes := audit.Collect(access.With(context.WithoutCancel(ctx), access.Local()))
	for i, name := range removal.Names {
		err := s.removeOne(within, &removal, name, removal.Made[i])
		known, refused := errors.AsType[*Error](err)
		switch {
		case err == nil, refused && known.Kind == KindNotFound: // another request has deleted it
		case refused:
			removal.Not = append(removal.Not, NotRemoved{Name: name, Why: known.Detail})
		default:
			return fmt.Errorf("delete %s %s: %w", removal.What, name, err)
		}
	}
	s.recordRemoval(within, &removal, changes)
	removal.Ended, record.ExpiresAt = true, s.now().Add(removalKept)
	if err := writeRecord(within, s.store, record, &removal); err != nil {
		return fmt.Errorf("end to delete %s: %w", removal.What, err)
	}
	return nil
}

// removeOne deletes a thing, unless its name means another one by now.
func (s *Service) removeOne(ctx context.Context, removal *Removal, name, made string) error {
	now, _, err := s.removable(ctx, removal.Namespace, removal.What, name)
	if err != nil {
		return err
	}
	if now != made {
		return conflict("changed_since", "it was changed, or made anew, after its deletion was asked for")
	}
	switch removal.What {
	case RemovedJobs:
		return s.Jobs.Delete(ctx, removal.Namespace, name, removal.By, 0)
	case RemovedDAGs:
		return s.DAGs.Delete(ctx, removal.Namespace, name, removal.By, 0)
	case RemovedBinaries:
		return s.DeleteBinary(ctx, removal.Namespace, name)
	case RemovedDeadLetters:
		return s.PurgeDeadLetter(ctx, removal.Namespace, name)
	}
	return fmt.Errorf("%q cannot be removed", removal.What)
}

// recordRemoval writes into the audit log what was deleted after the time to take it back: the request itself is in it already.
func (s *Service) recordRemoval(ctx context.Context, removal *Removal, changes *audit.Changes) {
	entry := audit.Entry{At: s.now(), By: removal.By, Namespace: removal.Namespace, Action: "delete " + string(removal.What), Target: "/" + string(removal.What), Outcome: audit.Done}
	if len(removal.Names) == 1 {
		entry.Target += "/" + removal.Names[0]
	}
	if len(removal.Not) == len(removal.Names) {
		entry.Outcome = audit.Refused
	}
	changes.Fill(&entry)
	if err := s.Audit.Append(ctx, entry); err != nil {
		s.log.Error("a change is missing in the audit log", "error", err, "by", entry.By, "namespace", entry.Namespace, "action", entry.Action, "target", entry.Target)
	}
}

// Words names what is removed: "job nightly-report", "3 jobs".
func (r *Removal) Words() string {
	nouns := map[Removed][2]string{
		RemovedJobs: {"job", "jobs"}, RemovedDAGs: {"DAG", "DAGs"}, RemovedBinaries: {"binary", "binaries"}, RemovedDeadLetters: {"dead letter", "dead letters"},
	}[r.What]
	if len(r.Names) == 1 && r.What != RemovedDeadLetters {
		return nouns[0] + " " + r.Names[0]
	}
	if len(r.Names) == 1 {
		return "1 " + nouns[0]
	}
	return fmt.Sprintf("%d %s", len(r.Names), nouns[1])
}

// Refusals says in a sentence what was not removed, and why; "" where all was.
func (r *Removal) Refusals() string {
	words := make([]string, 0, len(r.Not))
	for _, one := range r.Not {
		words = append(words, one.Name+": "+one.Why)
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}
