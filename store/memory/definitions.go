package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// definitions keeps what users write under a name: jobs, or DAGs, with the versions that each has had.
type definitions[S engine.Spec] struct {
	s    *Store
	what string // "job", for errors
	list string // "jobs", of cursors

	byUID    map[string]*engine.Definition[S]   // tombstones included
	names    map[string]string                  // "namespace/name" of the living → uid
	pending  map[string]struct{}                // uids
	versions map[string][]*engine.Definition[S] // by uid: as it was when each generation began
}

func newJobs(s *Store) *definitions[spec.Job] { return newDefinitions[spec.Job](s, "job", "jobs") }

func newDAGs(s *Store) *definitions[spec.DAG] { return newDefinitions[spec.DAG](s, "DAG", "dags") }

func newDefinitions[S engine.Spec](s *Store, what, list string) *definitions[S] {
	return &definitions[S]{
		s: s, what: what, list: list,
		byUID: map[string]*engine.Definition[S]{}, names: map[string]string{}, pending: map[string]struct{}{}, versions: map[string][]*engine.Definition[S]{},
	}
}

func (d *definitions[S]) create(given *engine.Definition[S]) error {
	if _, named := d.names[given.Key()]; named || d.byUID[given.UID] != nil {
		return fmt.Errorf("memory: create %s %s: %w", d.what, given.Key(), engine.ErrExists)
	}
	d.put(given)
	return nil
}

func (d *definitions[S]) replace(given *engine.Definition[S]) error {
	stored := d.byUID[given.UID]
	switch {
	case stored == nil:
		return fmt.Errorf("memory: replace %s %s: %w", d.what, given.Key(), engine.ErrNotFound)
	case stored.Revision != given.Revision-1:
		return fmt.Errorf("memory: replace %s %s: %w", d.what, given.Key(), engine.ErrConflict)
	}
	d.put(given)
	return nil
}

func (d *definitions[S]) put(given *engine.Definition[S]) {
	kept := given.Clone()
	d.byUID[given.UID] = &kept
	if given.Deleted {
		if d.names[given.Key()] == given.UID {
			delete(d.names, given.Key())
		}
	} else {
		d.names[given.Key()] = given.UID
	}
	if given.Pending {
		d.pending[given.UID] = struct{}{}
	} else {
		delete(d.pending, given.UID)
	}
	versions := d.versions[given.UID]
	if i := slices.IndexFunc(versions, func(version *engine.Definition[S]) bool { return version.Generation == given.Generation }); i >= 0 {
		versions[i].Source = given.Source
		return
	}
	version := given.Clone()
	d.versions[given.UID] = append(versions, &version)
}

// listed is a copy for a list, which has no Source.
func (d *definitions[S]) listed(stored *engine.Definition[S]) engine.Definition[S] {
	copied := stored.Clone()
	copied.Source = ""
	return copied
}

// handle does what engine.JobHandled says.
func (d *definitions[S]) handle(handled engine.JobHandled) {
	stored := d.byUID[handled.UID]
	if stored == nil || stored.Revision != handled.Revision {
		return
	}
	delete(d.pending, handled.UID)
	if stored.Deleted {
		delete(d.byUID, handled.UID)
		delete(d.versions, handled.UID)
		return
	}
	stored.Pending = false
}

func (d *definitions[S]) named(namespace, name string) (found engine.Definition[S], err error) {
	uid, there := d.names[namespace+"/"+name]
	if !there {
		return found, fmt.Errorf("memory: %s %s/%s: %w", d.what, namespace, name, engine.ErrNotFound)
	}
	return d.byUID[uid].Clone(), nil
}

func (d *definitions[S]) some(uids []string) (found []engine.Definition[S]) {
	for _, uid := range uids {
		if stored := d.byUID[uid]; stored != nil {
			found = append(found, d.listed(stored))
		}
	}
	return found
}

// pendingOf returns those of some shards that the engine has not acted upon, by uid.
func (d *definitions[S]) pendingOf(mine *shards, limit int) []engine.Definition[S] {
	var uids []string
	for uid := range d.pending {
		if mine.has(d.byUID[uid].Shard) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return d.some(uids[:min(limit, len(uids))])
}

// living lists those that are not deleted by namespace and name.
func (d *definitions[S]) living(filter *engine.DefinitionFilter, after engine.Cursor) (found []engine.Definition[S], next string) {
	text := strings.ToLower(filter.Text)
	var keys []string
	for key, uid := range d.names {
		stored := d.byUID[uid]
		if key > after.ID && (filter.Namespace == "" || stored.Namespace == filter.Namespace) &&
			strings.Contains(strings.ToLower(stored.Name), text) && (!filter.Retaining || stored.Retention() != (spec.Retention{})) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	keys, next = page(d.list, keys, filter.Limit, func(key string) engine.Cursor { return engine.Cursor{ID: key} })
	for _, key := range keys {
		found = append(found, d.listed(d.byUID[d.names[key]]))
	}
	return found, next
}

func (d *definitions[S]) version(uid string, generation int64) (found engine.Definition[S], err error) {
	for _, version := range d.versions[uid] {
		if version.Generation == generation {
			return version.Clone(), nil
		}
	}
	return found, fmt.Errorf("memory: generation %d of %s %s: %w", generation, d.what, uid, engine.ErrNotFound)
}

// versionsBelow lists the versions below a generation (0: all of them), newest first.
func (d *definitions[S]) versionsBelow(uid string, before int64, limit int) (found []engine.Definition[S]) {
	for _, version := range d.versions[uid] {
		if before == 0 || version.Generation < before {
			found = append(found, d.listed(version))
		}
	}
	slices.SortFunc(found, func(a, b engine.Definition[S]) int { return cmp.Compare(b.Generation, a.Generation) })
	return found[:min(limit, len(found))]
}

// drop forgets the versions below a generation.
func (d *definitions[S]) drop(uid string, below int64) int {
	before := len(d.versions[uid])
	d.versions[uid] = slices.DeleteFunc(d.versions[uid], func(version *engine.Definition[S]) bool { return version.Generation < below })
	return before - len(d.versions[uid])
}

// page cuts a list at limit and returns the cursor of what follows, "" where nothing does.
func page[T any](kind string, list []T, limit int, cursor func(T) engine.Cursor) (cut []T, next string) {
	if limit >= len(list) {
		return list, ""
	}
	limit = max(limit, 1)
	return list[:limit], cursor(list[limit-1]).Encode(kind)
}
