package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Upload says how an upload is to be kept.
type Upload struct {
	By      string
	Aliases []string // moved to the new version
	SHA256  string   // what the bytes must hash to, if the caller knows
	// AnyPlatform accepts a program of another operating system or processor.
	AnyPlatform bool
	Size        int64  // how many bytes there are; 0: not known beforehand
	Key         string // idempotency key: the same upload again makes no version and moves no alias
}

// UploadBinary stores a new version. Bytes equal to the latest version's make no new one: existed is then true.
func (s *Service) UploadBinary(ctx context.Context, namespace, name string, r io.Reader, how Upload) (binary engine.Binary, version engine.BinaryVersion, existed bool, err error) {
	if err := spec.ValidName("binary", name); err != nil {
		return binary, version, false, field("invalid_name", "path.name", "%s", err)
	}
	for _, alias := range how.Aliases {
		if err := validAlias(alias); err != nil {
			return binary, version, false, err
		}
	}
	room, err := s.roomFor(ctx, namespace, name, &how)
	if err != nil {
		return binary, version, false, err
	}
	info, err := s.blobs.PutBinary(ctx, r, UploadBounds{MaxSize: room, SHA256: how.SHA256})
	if large, is := errors.AsType[*TooLargeError](err); is && large.Limit < s.config.MaxBinary {
		return binary, version, false, noRoom(namespace, large.Limit)
	}
	if err != nil {
		return binary, version, false, explainUpload(err)
	}
	if info.Problem != "" {
		return binary, version, false, field("broken_program", "body", "the program cannot run: %s", info.Problem)
	}
	if info.Foreign != "" && !how.AnyPlatform {
		return binary, version, false, field("foreign_program", "body", "%s (to keep it all the same, for executors elsewhere, say any_platform)", info.Foreign)
	}
	request := Request{Namespace: namespace, Operation: "upload " + name, Key: how.Key, Asked: []any{info.SHA256, how.Aliases}}
	repeated, err := s.Repeated(ctx, request)
	if err != nil {
		return binary, version, false, err
	}
	for range 20 {
		old, err := s.store.Binary(ctx, namespace, name)
		missing := errors.Is(err, engine.ErrNotFound)
		if err != nil && !missing {
			return binary, version, false, fmt.Errorf("read binary %s: %w", name, err)
		}
		binary = old
		if missing {
			binary = engine.Binary{Namespace: namespace, Name: name}
		}
		if i := slices.IndexFunc(binary.Versions, func(v engine.BinaryVersion) bool { return v.SHA256 == info.SHA256 }); repeated && i >= 0 {
			return binary, binary.Versions[i], true, nil
		}
		version, existed = s.addVersion(&binary, info, how)
		moved := s.moveAliases(&binary, how.Aliases, version.N, how.By)
		if existed && !moved {
			return binary, version, true, s.Remember(ctx, request)
		}
		binary.Revision++
		binary.UpdatedAt = s.now()
		more := version.Size
		if existed {
			more = 0
		}
		err = s.saveBinary(ctx, binary, missing, more)
		var refused *Error
		switch {
		case errors.As(err, &refused):
			return old, version, false, err
		case err == nil:
			audit.Describe(ctx, namespace, audit.Change{What: "binary " + name, After: fmt.Sprintf("version %d, sha256 %.12s", version.N, version.SHA256)})
			s.wake(ctx, engine.Wake{Kind: engine.WakeBinary, Key: binary.Key()})
			return binary, version, existed, s.Remember(ctx, request)
		case !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrConflict) && !errors.Is(err, engine.ErrNotFound):
			return binary, version, false, fmt.Errorf("save binary %s: %w", name, err)
		}
	}
	return binary, version, false, explain(engine.ErrConflict, "binary", name)
}

// saveBinary writes a binary that has so many bytes more than before.
func (s *Service) saveBinary(ctx context.Context, binary engine.Binary, create bool, more int64) error {
	done, err := s.mayStore(ctx, binary.Namespace, more)
	if err != nil {
		return err
	}
	defer done()
	if create {
		return s.store.CreateBinary(ctx, binary)
	}
	return s.store.ReplaceBinary(ctx, binary)
}

func (s *Service) addVersion(binary *engine.Binary, info Uploaded, how Upload) (version engine.BinaryVersion, existed bool) {
	latest, ok := binary.Latest()
	if ok && latest.SHA256 == info.SHA256 {
		return latest, true
	}
	version = engine.BinaryVersion{
		N: latest.N + 1, SHA256: info.SHA256, Size: info.Size, Kind: info.Kind, Arch: info.Arch, UploadedBy: how.By, At: s.now(),
	}
	binary.Versions = append(slices.Clone(binary.Versions), version)
	return version, false
}

// aliasMoves is how many moves of aliases are remembered of a binary.
const aliasMoves = 100

func (s *Service) moveAliases(binary *engine.Binary, aliases []string, to int, by string) (moved bool) {
	for _, alias := range aliases {
		from := binary.Aliases[alias]
		if from == to {
			continue
		}
		moved = true
		copied := map[string]int{alias: to}
		for other, n := range binary.Aliases {
			if other != alias {
				copied[other] = n
			}
		}
		binary.Aliases = copied
		binary.AliasHistory = append(slices.Clone(binary.AliasHistory), engine.AliasMove{Alias: alias, From: from, To: to, By: by, At: s.now()})
		if extra := len(binary.AliasHistory) - aliasMoves; extra > 0 {
			binary.AliasHistory = binary.AliasHistory[extra:]
		}
	}
	return moved
}

func explainUpload(err error) error {
	var large *TooLargeError
	var digest *DigestError
	switch {
	case errors.Is(err, ErrEmpty):
		return field("empty_file", "body", "the file is empty: a program has at least one byte")
	case errors.As(err, &large):
		return &Error{Kind: KindTooLarge, Code: "binary_too_large", Detail: fmt.Sprintf("the file is larger than the limit of %d MiB; raise --max-binary if that is meant", large.Limit>>20), Err: err}
	case errors.As(err, &digest):
		return field("digest_mismatch", "body", "the bytes that arrived have sha256 %s, not %s: upload the file again", digest.Got, digest.Want)
	}
	return fmt.Errorf("store the upload: %w", err)
}

func validAlias(alias string) error {
	if err := spec.ValidName("alias", alias); err != nil {
		return field("invalid_alias", "alias", "%s", err)
	}
	digits := true
	for _, c := range alias {
		digits = digits && c >= '0' && c <= '9'
	}
	if digits {
		return field("invalid_alias", "alias", "alias %q is a number, and would be taken for a version: use a word such as stable", alias)
	}
	return nil
}

// Binary returns one binary.
func (s *Service) Binary(ctx context.Context, namespace, name string) (engine.Binary, error) {
	binary, err := s.store.Binary(ctx, namespace, name)
	return binary, explain(err, "binary", name)
}

// Binaries lists binaries by name, with the cursor of the next page.
func (s *Service) Binaries(ctx context.Context, namespace, cursor string, limit int) ([]engine.Binary, string, error) {
	if err := checkCursor(namespace, cursor); err != nil {
		return nil, "", err
	}
	return s.store.Binaries(ctx, namespace, cursor, limit)
}

// BinariesNamed returns those whose names hold a text, the best first, and whether there are more.
func (s *Service) BinariesNamed(ctx context.Context, namespace, text string, limit int) (found []engine.Binary, more bool, err error) {
	names, err := searchNames(ctx, s.store.BinaryNames, namespace, text, limit+1)
	if err != nil {
		return nil, false, err
	}
	for _, name := range names[:min(limit, len(names))] {
		binary, err := s.store.Binary(ctx, namespace, name)
		if errors.Is(err, engine.ErrNotFound) {
			continue // deleted a moment ago
		}
		if err != nil {
			return nil, false, fmt.Errorf("read binary %s: %w", name, err)
		}
		found = append(found, binary)
	}
	return found, len(names) > limit, nil
}

// BinaryContent opens the bytes of a version; the caller closes them.
func (s *Service) BinaryContent(ctx context.Context, namespace, name string, n int) (io.ReadCloser, engine.BinaryVersion, error) {
	binary, err := s.Binary(ctx, namespace, name)
	if err != nil {
		return nil, engine.BinaryVersion{}, err
	}
	version, err := binary.Resolve(spec.BinaryRef{Name: name, Version: n})
	if err != nil {
		return nil, engine.BinaryVersion{}, &Error{Kind: KindNotFound, Code: "version_not_found", Detail: err.Error(), Err: err}
	}
	content, _, err := s.blobs.GetBinary(ctx, version.SHA256)
	if err != nil {
		return nil, version, fmt.Errorf("open binary %s version %d: %w", name, n, err)
	}
	return content, version, nil
}
