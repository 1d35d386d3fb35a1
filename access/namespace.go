package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// namespaceKind is the kind of the records that hold namespaces, by name.
const namespaceKind = "namespace"

const (
	// namespacesTrusted is how long a node trusts what it has read: a namespace that another node deletes is gone for this one then.
	namespacesTrusted = 3 * time.Second
	namespacesPerRead = 1000
)

// MaxDescription is how long the description of a namespace may be, in bytes.
const MaxDescription = 500

// Namespace is a tenant: it owns jobs, DAGs, binaries and secrets, and identities have roles in it.
type Namespace struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at,omitzero"` // zero for the default namespace until it is described
	CreatedBy   string    `json:"created_by,omitempty"`
	Quota       Quota     `json:"quota,omitzero"`
	// Retention is how long its history is kept, where a job or a DAG does not say.
	Retention spec.Retention `json:"retention,omitzero"`

	Revision int64 `json:"-"` // of its record; 0 where it has none
}

// Quota bounds what a namespace may use; 0 is no bound.
type Quota struct {
	Jobs             int64 `json:"jobs,omitempty"`               // jobs and DAGs that are defined
	Queued           int64 `json:"queued,omitempty"`             // runs that wait
	Running          int64 `json:"running,omitempty"`            // runs under way
	StoredBytes      int64 `json:"stored_bytes,omitempty"`       // of the versions of its binaries, and what its runs have in S3
	SubmitsPerSecond int64 `json:"submits_per_second,omitempty"` // runs and waves that users and programs ask for
}

// String returns the bounds in words, as in "jobs 10, running 4".
func (q Quota) String() string {
	var bounds []string
	for _, one := range []struct {
		what  string
		bound int64
	}{{"jobs", q.Jobs}, {"queued", q.Queued}, {"running", q.Running}, {"stored bytes", q.StoredBytes}, {"submits per second", q.SubmitsPerSecond}} {
		if one.bound > 0 {
			bounds = append(bounds, fmt.Sprintf("%s %d", one.what, one.bound))
		}
	}
	if len(bounds) == 0 {
		return "none"
	}
	return strings.Join(bounds, ", ")
}

// Namespaces keeps the namespaces. The default one is always there. It is safe for concurrent use, also by several nodes on one
// store.
type Namespaces struct {
	records engine.Records
	now     func() time.Time

	mu     sync.Mutex
	known  []Namespace // by name; nil: to be read
	readAt time.Time
	writes int // of this node, so that what was read before one is not kept after it
}

// NewNamespaces keeps namespaces in a store, which stays the caller's.
func NewNamespaces(records engine.Records, now func() time.Time) *Namespaces {
	return &Namespaces{records: records, now: now}
}

// List returns all namespaces by name. It may be namespacesTrusted old. The caller must not change it.
func (n *Namespaces) List(ctx context.Context) ([]Namespace, error) {
	n.mu.Lock()
	known, age := n.known, n.now().Sub(n.readAt)
	n.mu.Unlock()
	if known != nil && age >= 0 && age < namespacesTrusted {
		return known, nil
	}
	return n.read(ctx)
}

// read reads all namespaces.
func (n *Namespaces) read(ctx context.Context) ([]Namespace, error) {
	n.mu.Lock()
	writes, began := n.writes, n.now()
	n.mu.Unlock()
	known := []Namespace{{Name: engine.DefaultNamespace}}
	filter := engine.RecordFilter{Kind: namespaceKind, Limit: namespacesPerRead}
	for {
		records, err := n.records.Records(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list namespaces: %w", err)
		}
		for i := range records {
			var one Namespace
			if err := json.Unmarshal(records[i].Data, &one); err != nil {
				return nil, fmt.Errorf("read namespace %s: %w", records[i].Key, err)
			}
			one.Name, one.Revision = records[i].Key, records[i].Revision
			if one.Name == engine.DefaultNamespace {
				known[0] = one
				continue
			}
			known = append(known, one)
		}
		if len(records) < namespacesPerRead {
			break
		}
		filter.After = records[len(records)-1].Key
	}
	slices.SortFunc(known, func(a, b Namespace) int { return strings.Compare(a.Name, b.Name) })
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writes == writes {
		n.known, n.readAt = known, began
	}
	return known, nil
}

// Get returns a namespace; engine.ErrNotFound. One that another node has just made is found at once.
func (n *Namespaces) Get(ctx context.Context, name string) (Namespace, error) {
	known, err := n.List(ctx)
	if err != nil {
		return Namespace{}, err
	}
	at, found := findNamespace(known, name)
	if !found {
		if known, err = n.read(ctx); err != nil {
			return Namespace{}, err
		}
		if at, found = findNamespace(known, name); !found {
			return Namespace{}, engine.ErrNotFound
		}
	}
	return known[at], nil
}

func findNamespace(known []Namespace, name string) (at int, found bool) {
	return slices.BinarySearchFunc(known, name, func(one Namespace, name string) int { return strings.Compare(one.Name, name) })
}

// Create makes a namespace; engine.ErrExists.
func (n *Namespaces) Create(ctx context.Context, namespace Namespace) (Namespace, error) {
	if namespace.Name == engine.DefaultNamespace {
		return Namespace{}, engine.ErrExists
	}
	return n.insert(ctx, namespace)
}

func (n *Namespaces) insert(ctx context.Context, namespace Namespace) (Namespace, error) {
	namespace.CreatedAt, namespace.Revision = n.now().UTC(), 1
	return n.written(namespace, func(record engine.Record) error { return n.records.InsertRecord(ctx, record) })
}

// Change changes the description and quota of a namespace; engine.ErrNotFound, or engine.ErrConflict where another user was faster.
func (n *Namespaces) Change(ctx context.Context, name, by string, change func(*Namespace)) (Namespace, error) {
	namespace, err := n.Get(ctx, name)
	if err != nil {
		return Namespace{}, err
	}
	change(&namespace)
	if namespace.Revision == 0 { // the default one has no record until now
		namespace.CreatedBy = by
		return n.insert(ctx, namespace)
	}
	namespace.Revision++
	return n.written(namespace, func(record engine.Record) error { return n.records.ReplaceRecord(ctx, record) })
}

func (n *Namespaces) written(namespace Namespace, write func(engine.Record) error) (Namespace, error) {
	data, err := json.Marshal(namespace)
	if err != nil {
		return Namespace{}, fmt.Errorf("encode namespace %s: %w", namespace.Name, err)
	}
	defer n.forget()
	if err := write(engine.Record{Kind: namespaceKind, Key: namespace.Name, Revision: namespace.Revision, Data: data}); err != nil {
		return Namespace{}, fmt.Errorf("write namespace %s: %w", namespace.Name, err)
	}
	return namespace, nil
}

// Delete deletes a namespace, which must own nothing any more; engine.ErrNotFound.
func (n *Namespaces) Delete(ctx context.Context, name string) error {
	defer n.forget()
	if err := n.records.DeleteRecord(ctx, namespaceKind, name, 0); err != nil {
		return fmt.Errorf("delete namespace %s: %w", name, err)
	}
	return nil
}

// Adopt makes those namespaces that have no record: they own things from before there were records.
func (n *Namespaces) Adopt(ctx context.Context, names []string) error {
	for _, name := range names {
		if name == engine.DefaultNamespace {
			continue
		}
		if _, err := n.insert(ctx, Namespace{Name: name}); err != nil && !errors.Is(err, engine.ErrExists) {
			return err
		}
	}
	return nil
}

// forget has the next List read.
func (n *Namespaces) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = nil
	n.writes++
}
