package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// definitions keeps what users write under a name: jobs, or DAGs, with the forms that each has had.
type definitions[D any] struct {
	what  string           // "job", for errors
	list  string           // "jobs", of cursors
	clone func(*D) D       // shares nothing with the original
	head  func(*D) *head   // what jobs and DAGs have in common
	text  func(*D) *string // its Source
	pend  func(*D, bool)   // sets Pending

	byUID   map[string]*D       // tombstones included
	names   map[string]string   // "namespace/name" of the living → uid
	pending map[string]struct{} // uids
	forms   map[string][]*D     // by uid: as it was when each generation began
}

type head struct {
	uid, namespace, name string
	shard                int
	generation, revision int64
	deleted, pending     bool
}

func (h *head) key() string { return h.namespace + "/" + h.name }

func newJobs() *definitions[engine.Job] {
	return newDefinitions("job", "jobs", copyJob, func(j *engine.Job) *string { return &j.Source },
		func(j *engine.Job) *head {
			return &head{j.UID, j.Namespace, j.Name, j.Shard, j.Generation, j.Revision, j.Deleted, j.Pending}
		},
		func(j *engine.Job, pending bool) { j.Pending = pending })
}

func newDAGs() *definitions[engine.DAG] {
	return newDefinitions("DAG", "dags", copyDAG, func(d *engine.DAG) *string { return &d.Source },
		func(d *engine.DAG) *head {
			return &head{d.UID, d.Namespace, d.Name, d.Shard, d.Generation, d.Revision, d.Deleted, d.Pending}
		},
		func(d *engine.DAG, pending bool) { d.Pending = pending })
}

func newDefinitions[D any](what, list string, clone func(*D) D, text func(*D) *string, read func(*D) *head, pend func(*D, bool)) *definitions[D] {
	return &definitions[D]{
		what: what, list: list, clone: clone, text: text, head: read, pend: pend,
		byUID: map[string]*D{}, names: map[string]string{}, pending: map[string]struct{}{}, forms: map[string][]*D{},
	}
}

func (d *definitions[D]) create(given *D) error {
	h := d.head(given)
	if _, named := d.names[h.key()]; named || d.byUID[h.uid] != nil {
		return fmt.Errorf("memory: create %s %s: %w", d.what, h.key(), engine.ErrExists)
	}
	d.put(given, h)
	return nil
}

func (d *definitions[D]) replace(given *D) error {
	h := d.head(given)
	stored := d.byUID[h.uid]
	switch {
	case stored == nil:
		return fmt.Errorf("memory: replace %s %s: %w", d.what, h.key(), engine.ErrNotFound)
	case d.head(stored).revision != h.revision-1:
		return fmt.Errorf("memory: replace %s %s: %w", d.what, h.key(), engine.ErrConflict)
	}
	d.put(given, h)
	return nil
}

func (d *definitions[D]) put(given *D, h *head) {
	kept := d.clone(given)
	d.byUID[h.uid] = &kept
	if h.deleted {
		if d.names[h.key()] == h.uid {
			delete(d.names, h.key())
		}
	} else {
		d.names[h.key()] = h.uid
	}
	if h.pending {
		d.pending[h.uid] = struct{}{}
	} else {
		delete(d.pending, h.uid)
	}
	forms := d.forms[h.uid]
	if i := slices.IndexFunc(forms, func(form *D) bool { return d.head(form).generation == h.generation }); i >= 0 {
		*d.text(forms[i]) = *d.text(given)
		return
	}
	form := d.clone(given)
	d.forms[h.uid] = append(forms, &form)
}

// listed is a copy for a list, which has no Source.
func (d *definitions[D]) listed(stored *D) D {
	copied := d.clone(stored)
	*d.text(&copied) = ""
	return copied
}

// handle does what engine.JobHandled says.
func (d *definitions[D]) handle(handled engine.JobHandled) {
	stored := d.byUID[handled.UID]
	if stored == nil || d.head(stored).revision != handled.Revision {
		return
	}
	delete(d.pending, handled.UID)
	if d.head(stored).deleted {
		delete(d.byUID, handled.UID)
		delete(d.forms, handled.UID)
		return
	}
	d.pend(stored, false)
}

func (d *definitions[D]) named(namespace, name string) (found D, err error) {
	uid, there := d.names[namespace+"/"+name]
	if !there {
		return found, fmt.Errorf("memory: %s %s/%s: %w", d.what, namespace, name, engine.ErrNotFound)
	}
	return d.clone(d.byUID[uid]), nil
}

func (d *definitions[D]) some(uids []string) (found []D) {
	for _, uid := range uids {
		if stored := d.byUID[uid]; stored != nil {
			found = append(found, d.listed(stored))
		}
	}
	return found
}

// pendingOf gives those of some shards that the engine has not acted upon, by uid.
func (d *definitions[D]) pendingOf(mine *shards, limit int) []D {
	var uids []string
	for uid := range d.pending {
		if mine.has(d.head(d.byUID[uid]).shard) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return d.some(uids[:min(limit, len(uids))])
}

// living lists those that are not deleted by namespace and name.
func (d *definitions[D]) living(namespace, text string, after engine.Cursor, limit int) (found []D, next string) {
	text = strings.ToLower(text)
	var keys []string
	for key, uid := range d.names {
		h := d.head(d.byUID[uid])
		if key > after.ID && (namespace == "" || h.namespace == namespace) && strings.Contains(strings.ToLower(h.name), text) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	keys, next = page(d.list, keys, limit, func(key string) engine.Cursor { return engine.Cursor{ID: key} })
	for _, key := range keys {
		found = append(found, d.listed(d.byUID[d.names[key]]))
	}
	return found, next
}

func (d *definitions[D]) form(uid string, generation int64) (found D, err error) {
	for _, form := range d.forms[uid] {
		if d.head(form).generation == generation {
			return d.clone(form), nil
		}
	}
	return found, fmt.Errorf("memory: generation %d of %s %s: %w", generation, d.what, uid, engine.ErrNotFound)
}

// formsBelow lists the forms below a generation (0: all of them), newest first.
func (d *definitions[D]) formsBelow(uid string, before int64, limit int) (found []D) {
	for _, form := range d.forms[uid] {
		if before == 0 || d.head(form).generation < before {
			found = append(found, d.listed(form))
		}
	}
	slices.SortFunc(found, func(a, b D) int { return cmp.Compare(d.head(&b).generation, d.head(&a).generation) })
	return found[:min(limit, len(found))]
}

// drop forgets the forms below a generation.
func (d *definitions[D]) drop(uid string, below int64) int {
	before := len(d.forms[uid])
	d.forms[uid] = slices.DeleteFunc(d.forms[uid], func(form *D) bool { return d.head(form).generation < below })
	return before - len(d.forms[uid])
}

// page cuts a list at limit and gives the cursor of what follows, "" where nothing does.
func page[T any](kind string, list []T, limit int, cursor func(T) engine.Cursor) (cut []T, next string) {
	if limit >= len(list) {
		return list, ""
	}
	limit = max(limit, 1)
	return list[:limit], cursor(list[limit-1]).Encode(kind)
}
