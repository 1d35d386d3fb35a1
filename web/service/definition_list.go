package service

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// State narrows a list of definitions to those of which something is to be said.
type State string

// The states. A definition may be in several.
const (
	StatePaused  State = "paused"
	StateFailing State = "failing" // the last run or wave that ended was a bad one
	StateLate    State = "late"    // something is overdue; of jobs only
	StateRunning State = "running" // a wave is open; of DAGs only
)

// Order is what a list of definitions is ordered by.
type Order string

// The orders. Of jobs, only ByName lists every one: what has no slot to come, no run, or no failure is not in the others.
const (
	ByName     Order = "name"
	ByNext     Order = "next"     // the next slot, the earliest first
	ByLast     Order = "last"     // the last run or wave, the newest first
	ByFailures Order = "failures" // bad ends, most of them first: of a job in the last 7 days, of a DAG among its last waves
)

// ListQuery selects jobs or DAGs for a list.
type ListQuery struct {
	Namespace string
	Text      string    // in the name; case is ignored
	Label     string    // "key" or "key=value"
	Tier      spec.Tier // of jobs only
	State     State
	Only      map[string]bool // of these names alone; nil: of any
	Paused    bool            // only those that are, whatever the State
	Order     Order           // "" is ByName
	Cursor    string
	Limit     int  // 1 … 1000
	Health    bool // the entries say how they do
}

// Entry is a definition in a list.
type Entry[S engine.Spec] struct {
	Definition engine.Definition[S]
	Next       time.Time // the first slot that is planned; zero where nothing is, and where it is paused
	Health     Health    // where it was asked for
}

// ListPage is a page of a list of definitions.
type ListPage[S engine.Spec] struct {
	Entries []Entry[S]
	Next    string // cursor
	// Partial means that the page is short because what matches is rare: there may be more behind Next.
	Partial bool
	// First is how many definitions, the first by name, the page was chosen from where there are more; 0 otherwise.
	First int
}

// found is what a list is made of. health and next are nil where they are not known yet.
type found[S engine.Spec] struct {
	ListPage[S]

	definitions []engine.Definition[S]
	health      map[string]Health
	next        map[string]time.Time
}

const (
	// lookedAt is how many definitions or runs are looked at for one page, and atOnce how many of them at once.
	lookedAt = 5_000
	atOnce   = 500
)

// Page lists definitions. Its cost is bounded: where what matches is rare, a page is cut short.
func (d *Definitions[S]) Page(ctx context.Context, q ListQuery) (ListPage[S], error) {
	q.Limit = min(max(q.Limit, 1), 1000)
	err := CheckLabel(q.Label)
	if err != nil {
		return ListPage[S]{}, err
	}
	var of found[S]
	if (q.State == "" || q.State == StatePaused) && (q.Order == "" || q.Order == ByName) {
		of, err = d.walk(ctx, &q, d.byName)
	} else {
		of, err = d.ranked(ctx, &q)
	}
	switch {
	case err != nil:
	case q.Health && of.health == nil:
		of.health, of.next, err = d.health(ctx, of.definitions)
	case of.next == nil:
		of.next, err = d.NextSlots(ctx, of.definitions...)
	}
	if err != nil {
		return ListPage[S]{}, err
	}
	for i := range of.definitions {
		uid := of.definitions[i].UID
		of.Entries = append(of.Entries, Entry[S]{Definition: of.definitions[i], Next: of.next[uid], Health: of.health[uid]})
	}
	return of.ListPage, nil
}

// selects reports whether a definition is one that the query asks for, as far as its record says.
func (d *Definitions[S]) selects(q *ListQuery, definition *engine.Definition[S]) bool {
	if definition.Deleted || definition.Namespace != q.Namespace || (q.Paused || q.State == StatePaused) && !definition.Paused {
		return false
	}
	if q.Only != nil && !q.Only[definition.Name] {
		return false
	}
	return strings.Contains(strings.ToLower(definition.Name), strings.ToLower(q.Text)) && d.matches(q, &definition.Spec)
}

// source returns definitions in an order, those behind a cursor, how many definitions or runs it has read, and the next
// cursor.
type source[S engine.Spec] func(
	ctx context.Context, q *ListQuery, cursor string, size int,
) (definitions []engine.Definition[S], looked int, next string, err error)

func (d *Definitions[S]) byName(
	ctx context.Context, q *ListQuery, cursor string, size int,
) (definitions []engine.Definition[S], looked int, next string, err error) {
	if q.Only != nil {
		definitions, err = d.named(ctx, q)
		return definitions, len(definitions), "", err
	}
	filter := engine.DefinitionFilter{Namespace: q.Namespace, Text: q.Text, Cursor: cursor, Limit: size}
	definitions, next, err = d.List(ctx, filter)
	return definitions, len(definitions), next, err
}

// named reads the definitions of a few names, in their order.
func (d *Definitions[S]) named(ctx context.Context, q *ListQuery) (definitions []engine.Definition[S], err error) {
	for _, name := range slices.Sorted(maps.Keys(q.Only)) {
		definition, err := d.store.Get(ctx, q.Namespace, name)
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", d.noun, name, err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// walk takes what matches of a source until a page is full or enough has been looked at. The cursor of a page that ends amid
// what the source gave at once says where that began, and the last definition shown.
func (d *Definitions[S]) walk(ctx context.Context, q *ListQuery, source source[S]) (page found[S], err error) {
	cursor, shown, err := splitListCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	size := q.Limit
	if q.Label != "" || q.Tier != "" || q.State != "" || q.Paused || q.Order == ByLast {
		size = atOnce
	}
	for looked := 0; ; {
		some, count, next, err := source(ctx, q, cursor, size)
		if err != nil {
			return page, err
		}
		// One that is not there any more cannot give the place to continue: rather show some again than leave some out.
		if at := slices.IndexFunc(some, func(definition engine.Definition[S]) bool { return definition.UID == shown }); at >= 0 {
			some = some[at+1:]
		}
		for i := range some {
			if !d.selects(q, &some[i]) {
				continue
			}
			if len(page.definitions) == q.Limit {
				page.Next = joinListCursor(cursor, page.definitions[q.Limit-1].UID)
				return page, nil
			}
			page.definitions = append(page.definitions, some[i])
		}
		looked += count
		if next == "" {
			return page, nil
		}
		cursor, shown = next, ""
		if len(page.definitions) == q.Limit || looked >= lookedAt {
			page.Next, page.Partial = joinListCursor(cursor, ""), len(page.definitions) < q.Limit
			return page, nil
		}
	}
}

// rankedFrom reads the cursor of a list that is found by counting: how many are on the pages before.
func rankedFrom(word string) (first int, err error) {
	cursor, given, err := engine.DecodeCursor("ranked", word)
	if err == nil && given {
		first, err = strconv.Atoi(cursor.ID)
	}
	if err != nil || first < 0 {
		return 0, engine.ErrCursor
	}
	return first, nil
}

// cut leaves the page of all definitions that begins after the first ones.
func (of *found[S]) cut(first, limit int) {
	of.definitions = of.definitions[min(first, len(of.definitions)):]
	if len(of.definitions) > limit {
		of.definitions = of.definitions[:limit]
		of.Next = engine.Cursor{ID: strconv.Itoa(first + limit)}.Encode("ranked")
	}
}

// sort orders definitions by what is known of them, or by name.
func (of *found[S]) sort(order Order, failures func(uid string) int) {
	last := func(uid string) time.Time {
		if marks := of.health[uid].Marks; len(marks) > 0 {
			return marks[0].CreatedAt
		}
		return time.Time{}
	}
	soon := func(uid string) time.Time {
		if at, ok := of.next[uid]; ok {
			return at
		}
		return engine.Parked
	}
	slices.SortFunc(of.definitions, func(a, b engine.Definition[S]) int {
		var first int
		switch order {
		case ByNext:
			first = soon(a.UID).Compare(soon(b.UID))
		case ByLast:
			first = last(b.UID).Compare(last(a.UID))
		case ByFailures:
			first = cmp.Compare(failures(b.UID), failures(a.UID))
		case ByName:
		}
		return cmp.Or(first, cmp.Compare(a.Name, b.Name))
	})
}

func joinListCursor(cursor, shown string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("list\n" + cursor + "\n" + shown))
}

func splitListCursor(word string) (cursor, shown string, err error) {
	if word == "" {
		return "", "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(word)
	parts := strings.Split(string(text), "\n")
	if err != nil || len(parts) != 3 || parts[0] != "list" {
		return "", "", engine.ErrCursor
	}
	return parts[1], parts[2], nil
}
