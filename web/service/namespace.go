package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// namespaces are those of the store. What was made before namespaces had records is adopted once in the life of a process.
type namespaces struct {
	*access.Namespaces

	mu      sync.Mutex
	adopted bool
}

// allNamespaces lists the namespaces that there are.
func (s *Service) allNamespaces(ctx context.Context) ([]access.Namespace, error) {
	if err := s.adoptNamespaces(ctx); err != nil {
		return nil, err
	}
	return s.namespaces.List(ctx)
}

func (s *Service) adoptNamespaces(ctx context.Context) error {
	s.namespaces.mu.Lock()
	defer s.namespaces.mu.Unlock()
	if s.namespaces.adopted {
		return nil
	}
	owners, err := s.namespacesInUse(ctx)
	if err == nil {
		err = s.namespaces.Adopt(ctx, owners)
	}
	s.namespaces.adopted = err == nil
	return err
}

// beyondNames is above all names of a namespace: they are letters, digits, - and _.
const beyondNames = "/~"

// namespacesInUse lists the namespaces that own a job, a DAG, a binary or a secret. It reads one of each of them.
func (s *Service) namespacesInUse(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	for kind, first := range map[string]func(cursor string) (string, error){
		"jobs": func(cursor string) (string, error) {
			jobs, _, err := s.store.Jobs().List(ctx, engine.DefinitionFilter{Cursor: cursor, Limit: 1})
			return ownerOf(jobs, func(j *engine.Job) string { return j.Namespace }), err
		},
		"dags": func(cursor string) (string, error) {
			dags, _, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Cursor: cursor, Limit: 1})
			return ownerOf(dags, func(d *engine.DAG) string { return d.Namespace }), err
		},
		"binaries": func(cursor string) (string, error) {
			binaries, _, err := s.store.Binaries(ctx, "", cursor, 1)
			return ownerOf(binaries, func(b *engine.Binary) string { return b.Namespace }), err
		},
	} {
		for cursor := ""; ; {
			owner, err := first(cursor)
			if err != nil {
				return nil, fmt.Errorf("look for namespaces in use: %w", err)
			}
			if owner == "" {
				break
			}
			found[owner] = true
			cursor = engine.Cursor{ID: owner + beyondNames}.Encode(kind)
		}
	}
	if s.config.Secrets != nil {
		owners, err := s.config.Secrets.Namespaces(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for namespaces in use: %w", err)
		}
		for _, owner := range owners {
			found[owner] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func ownerOf[T any](list []T, namespace func(*T) string) string {
	if len(list) == 0 {
		return ""
	}
	return namespace(&list[0])
}

// Namespaces lists the namespaces in which the identity of a request has a role, by name.
func (s *Service) Namespaces(ctx context.Context) ([]access.Namespace, error) {
	all, err := s.allNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	identity := access.From(ctx)
	mine := make([]access.Namespace, 0, len(all))
	for _, one := range all {
		if identity.May(one.Name, access.Viewer) {
			mine = append(mine, one)
		}
	}
	return mine, nil
}

// EnterNamespace refuses a request about a namespace in which its identity has no role, exactly like one about a namespace that is
// not there.
func (s *Service) EnterNamespace(ctx context.Context, name string) error {
	if err := spec.ValidName("namespace", name); err != nil {
		return field("invalid_namespace", "query.namespace", "%s", err)
	}
	if !access.From(ctx).May(name, access.Viewer) {
		return noNamespace(name)
	}
	if name == engine.DefaultNamespace { // it is always there, also while the store is not
		return nil
	}
	_, err := s.namespaceNamed(ctx, name)
	return err
}

func (s *Service) namespaceNamed(ctx context.Context, name string) (access.Namespace, error) {
	if err := s.adoptNamespaces(ctx); err != nil {
		return access.Namespace{}, err
	}
	found, err := s.namespaces.Get(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		err = noNamespace(name)
	}
	return found, err
}

func noNamespace(name string) error {
	return &Error{Kind: KindNotFound, Code: "namespace_not_found", Err: engine.ErrNotFound, Detail: fmt.Sprintf(
		"there is no namespace %q in which you have a role: check its name, or ask an administrator for it "+
			"(`tidewheel namespace create %s`, `tidewheel namespace member set`)", name, name)}
}

// Namespace returns a namespace.
func (s *Service) Namespace(ctx context.Context, name string) (access.Namespace, error) {
	return s.namespaceNamed(ctx, name)
}

// CreateNamespace makes a namespace.
func (s *Service) CreateNamespace(ctx context.Context, name, description string) (access.Namespace, error) {
	if err := spec.ValidName("namespace", name); err != nil {
		return access.Namespace{}, field("invalid_name", "body.name", "%s", err)
	}
	description, err := checkDescription(description)
	if err != nil {
		return access.Namespace{}, err
	}
	if err := s.adoptNamespaces(ctx); err != nil {
		return access.Namespace{}, err
	}
	made, err := s.namespaces.Create(ctx, access.Namespace{Name: name, Description: description, CreatedBy: Actor(ctx)})
	if err != nil {
		return access.Namespace{}, explain(err, "namespace", name)
	}
	audit.Describe(ctx, name, audit.Change{What: "namespace " + name, After: "created"})
	return made, nil
}

func checkDescription(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > access.MaxDescription {
		return "", field("description_too_long", "body.description", "the description has %d bytes, and %d are kept: shorten it", len(text), access.MaxDescription)
	}
	return text, nil
}

// NamespaceChange is what is to be changed of a namespace.
type NamespaceChange struct {
	Description *string             // nil: it stays
	Quota       func(*access.Quota) // nil: it stays
	Age         *string             // of its retention; nil: it stays, "0": the server's
	Runs        *int                // nil: it stays, 0: no bound
	Output      *string             // as Age
}

// retention returns what is to be kept after a change.
func (c *NamespaceChange) retention(keep spec.Retention) (spec.Retention, error) {
	if c.Runs != nil {
		keep.Runs = *c.Runs
	}
	for _, one := range []struct {
		name  string
		given *string
		to    *spec.Duration
	}{{"age", c.Age, &keep.Age}, {"output", c.Output, &keep.Output}} {
		if one.given == nil {
			continue
		}
		*one.to = 0
		if *one.given == "0" {
			continue
		}
		if err := one.to.UnmarshalText([]byte(*one.given)); err != nil {
			return keep, field("retention_invalid", "body.retention."+one.name, "the %s %s", one.name, strings.TrimPrefix(err.Error(), "spec: duration "))
		}
	}
	if problems := keep.Validate("retention"); len(problems) > 0 {
		return keep, field("retention_invalid", "body."+problems[0].Path, "%s", problems[0].Message)
	}
	return keep, nil
}

// ChangeNamespace changes the description and quota of a namespace. Only an admin of all namespaces may change quotas: who is bounded by
// one does not.
func (s *Service) ChangeNamespace(ctx context.Context, name string, change NamespaceChange) (access.Namespace, error) {
	before, err := s.namespaceNamed(ctx, name)
	if err != nil {
		return access.Namespace{}, err
	}
	wanted := before
	if change.Description != nil {
		if wanted.Description, err = checkDescription(*change.Description); err != nil {
			return access.Namespace{}, err
		}
	}
	if change.Quota != nil {
		change.Quota(&wanted.Quota)
	}
	if wanted.Quota != before.Quota && !access.From(ctx).May(access.Everywhere, access.Admin) {
		return access.Namespace{}, &Error{Kind: KindForbidden, Code: "quota_not_yours", Detail: "only an admin of all namespaces changes the quota of one: ask for it there"}
	}
	if wanted.Retention, err = change.retention(wanted.Retention); err != nil {
		return access.Namespace{}, err
	}
	after, err := s.namespaces.Change(ctx, name, Actor(ctx), func(n *access.Namespace) {
		n.Description, n.Quota, n.Retention = wanted.Description, wanted.Quota, wanted.Retention
	})
	if err != nil {
		return access.Namespace{}, explain(err, "namespace", name)
	}
	if wanted.Description != before.Description {
		audit.Describe(ctx, name, audit.Change{What: "description of namespace " + name, Before: before.Description, After: after.Description})
	}
	if wanted.Retention != before.Retention {
		audit.Describe(ctx, name, audit.Change{What: "retention of namespace " + name, Before: before.Retention.String(), After: after.Retention.String()})
	}
	if wanted.Quota != before.Quota {
		audit.Describe(ctx, name, audit.Change{What: "quota of namespace " + name, Before: before.Quota.String(), After: after.Quota.String()})
	}
	return after, nil
}

// DeleteNamespace deletes a namespace that owns no job, DAG, binary or secret any more. Its history goes with its age.
func (s *Service) DeleteNamespace(ctx context.Context, name string) error {
	if name == engine.DefaultNamespace {
		return conflict("namespace_default", "the namespace %s cannot be deleted: what names no namespace is in it", name)
	}
	if _, err := s.namespaceNamed(ctx, name); err != nil {
		return err
	}
	owned, err := s.ownedBy(ctx, name)
	if err != nil {
		return err
	}
	if len(owned) > 0 {
		return conflict("namespace_not_empty", "the namespace %s still owns %s: delete them first", name, strings.Join(owned, ", "))
	}
	members, err := s.Access.Members(ctx, name)
	if err != nil {
		return fmt.Errorf("list the members of %s: %w", name, err)
	}
	for _, member := range members { // one that is made under the name later begins without them
		if member.All || member.From != "" {
			continue
		}
		if _, err := s.Access.SetMember(ctx, name, member.User, 0); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("take the role of %s away: %w", member.User, err)
		}
	}
	if err := s.namespaces.Delete(ctx, name); err != nil {
		return explain(err, "namespace", name)
	}
	audit.Describe(ctx, name, audit.Change{What: "namespace " + name, Before: "was there"})
	return nil
}

// ownedBy names one of each kind of thing that a namespace owns.
func (s *Service) ownedBy(ctx context.Context, namespace string) (owned []string, err error) {
	jobs, _, err := s.store.Jobs().List(ctx, engine.DefinitionFilter{Namespace: namespace, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	for i := range jobs {
		owned = append(owned, "job "+jobs[i].Name)
	}
	dags, _, err := s.store.DAGs().List(ctx, engine.DefinitionFilter{Namespace: namespace, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("list DAGs: %w", err)
	}
	for i := range dags {
		owned = append(owned, "DAG "+dags[i].Name)
	}
	binaries, _, err := s.store.Binaries(ctx, namespace, "", 1)
	if err != nil {
		return nil, fmt.Errorf("list binaries: %w", err)
	}
	for i := range binaries {
		owned = append(owned, "binary "+binaries[i].Name)
	}
	if s.config.Secrets == nil {
		return owned, nil
	}
	secrets, err := s.config.Secrets.Secrets(ctx, namespace, "", 1)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	for i := range secrets {
		owned = append(owned, "secret "+secrets[i].Name)
	}
	return owned, nil
}

// ElsewhereError reports that what was asked for by its id is in another namespace, which the identity of the request may read.
type ElsewhereError struct{ Namespace string }

func (e *ElsewhereError) Error() string { return "it is in the namespace " + e.Namespace }

// Unwrap returns engine.ErrNotFound.
func (e *ElsewhereError) Unwrap() error { return engine.ErrNotFound }

// notIn is the answer to a request for something of another namespace: that it is not there, and where it is to those who may know.
func notIn(ctx context.Context, namespace, what, id, elsewhere string) error {
	err := explain(engine.ErrNotFound, what, id)
	known, is := errors.AsType[*Error](err)
	if is && access.From(ctx).May(elsewhere, access.Viewer) {
		known.Detail = fmt.Sprintf("there is no %s %q in the namespace %s: it is in %s; name that by --namespace, or as ?namespace=%[4]s", what, id, namespace, elsewhere)
		known.Err = &ElsewhereError{elsewhere}
	}
	return err
}

// checkCursor refuses the cursor of a list of another namespace: those of lists by name hold its name.
func checkCursor(namespace, word string) error {
	for _, list := range []string{"jobs", "dags", "binaries"} {
		cursor, given, err := engine.DecodeCursor(list, word)
		if err != nil || !given {
			continue // of another list, or none: the store says so
		}
		if of, _, is := strings.Cut(cursor.ID, "/"); is && of != namespace {
			return engine.ErrCursor
		}
	}
	return nil
}
