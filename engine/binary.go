package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Binary is an uploaded program under its name: immutable versions and movable aliases.
type Binary struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Revision  int64           `json:"revision"` // 1 at creation, +1 with each write
	Versions  []BinaryVersion `json:"versions"` // ascending N; a removed version leaves a gap
	Aliases   map[string]int  `json:"aliases,omitempty"`
	// AliasHistory remembers where each alias pointed before, newest last, for a rollback.
	AliasHistory []AliasMove `json:"alias_history,omitempty"`
	UpdatedAt    time.Time   `json:"updated_at"`
}

// BinaryVersion is one upload.
type BinaryVersion struct {
	N          int       `json:"n"`
	SHA256     string    `json:"sha256"` // hex
	Size       int64     `json:"size"`   // bytes
	Kind       string    `json:"kind"`   // elf, script, jar, unknown, …
	Arch       string    `json:"arch,omitempty"`
	UploadedBy string    `json:"uploaded_by,omitempty"`
	At         time.Time `json:"at"`
}

// AliasMove is one change of an alias: From is 0 when it was new.
type AliasMove struct {
	Alias string    `json:"alias"`
	From  int       `json:"from"`
	To    int       `json:"to"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"`
}

// Key is "namespace/name".
func (b *Binary) Key() string { return b.Namespace + "/" + b.Name }

// Latest returns the newest version, false if there is none.
func (b *Binary) Latest() (BinaryVersion, bool) {
	if len(b.Versions) == 0 {
		return BinaryVersion{}, false
	}
	return b.Versions[len(b.Versions)-1], true
}

// Version returns version n, false if there is none.
func (b *Binary) Version(n int) (BinaryVersion, bool) {
	i := slices.IndexFunc(b.Versions, func(v BinaryVersion) bool { return v.N == n })
	if i < 0 {
		return BinaryVersion{}, false
	}
	return b.Versions[i], true
}

// Resolve returns the version that a reference to b means now. The error lists the versions that exist.
func (b *Binary) Resolve(ref spec.BinaryRef) (BinaryVersion, error) {
	switch {
	case ref.Version > 0:
		if v, ok := b.Version(ref.Version); ok {
			return v, nil
		}
		return BinaryVersion{}, fmt.Errorf("binary %q has no version %d: %s", b.Name, ref.Version, b.offers())
	case ref.Alias != "":
		if v, ok := b.Version(b.Aliases[ref.Alias]); ok {
			return v, nil
		}
		return BinaryVersion{}, fmt.Errorf("binary %q has no alias %q: %s", b.Name, ref.Alias, b.offers())
	default:
		if v, ok := b.Latest(); ok {
			return v, nil
		}
		return BinaryVersion{}, fmt.Errorf("binary %q has no versions: push one with `tidewheel binary push %s FILE`", b.Name, b.Name)
	}
}

func (b *Binary) offers() string {
	var have []string
	for alias, n := range b.Aliases {
		have = append(have, fmt.Sprintf("%s (version %d)", alias, n))
	}
	slices.Sort(have)
	if v, ok := b.Latest(); ok {
		have = append([]string{fmt.Sprintf("versions up to %d", v.N)}, have...)
	}
	if len(have) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(have, ", ")
}

// BinaryKeys returns the keys ("namespace/name") of the binaries that the tasks of a DAG refer to, each once, in order.
func BinaryKeys(namespace string, definition *spec.DAG) []string {
	used := map[string]bool{}
	for i := range definition.Tasks {
		reference := definition.Tasks[i].Binary
		if reference == "" {
			reference = definition.Defaults.Binary
		}
		if ref, err := spec.ParseBinary(reference); err == nil && ref.Name != "" {
			used[namespace+"/"+ref.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}
