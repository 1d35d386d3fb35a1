package blob

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
)

// openEmpty opens a bucket beside that of openStore.
func openEmpty(t *testing.T) *Store {
	t.Helper()
	other := config(t)
	other.Bucket += "-2"
	store, err := Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

func keysOf(t *testing.T, s *Store, folder Folder) (keys []string) {
	t.Helper()
	if err := s.Objects(t.Context(), folder, func(o Object) error {
		keys = append(keys, o.Key)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// What is moved from one bucket to another is read there as it was written.
func TestObjectsMove(t *testing.T) {
	from, to := openStore(t), openEmpty(t)
	if empty, err := to.Empty(t.Context()); !empty || err != nil {
		t.Fatalf("an empty bucket is empty: %t, %v", empty, err)
	}
	big, err := io.ReadAll(noise(7, 2*partSize+5))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := from.PutBinary(t.Context(), bytes.NewReader(big), PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("a line\n"), LogChunkSize/7*2+9)
	log, err := from.NewLogWriter(t.Context(), "moved-run", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(text); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Close(); err != nil {
		t.Fatal(err)
	}
	digest := putArtifact(t, from, "moved-run", 2, "deep/a b.csv", []byte("1,2\n"))
	putArtifact(t, from, "moved-run", 2, "empty", nil)

	for _, folder := range []Folder{Binaries, Logs, Artifacts} {
		if err := from.Objects(t.Context(), folder, func(o Object) error {
			content, size, err := from.OpenObject(t.Context(), o.Key)
			if err != nil {
				return err
			}
			defer content.Close()
			if size != o.Size {
				t.Errorf("%s has %d bytes, and %d in the list", o.Key, size, o.Size)
			}
			return to.PutObject(t.Context(), o.Key, content, size)
		}); err != nil {
			t.Fatal(err)
		}
		if want, got := keysOf(t, from, folder), keysOf(t, to, folder); len(want) == 0 || !slices.Equal(want, got) {
			t.Errorf("%s: got %v, want %v", folder, got, want)
		}
	}
	logs := slices.DeleteFunc(keysOf(t, to, Logs), func(key string) bool { return !strings.HasPrefix(key, "logs/moved-run/") })
	if path.Base(logs[0]) != logIndexName || len(logs) != 4 {
		t.Errorf("the index does not come first: %v", logs)
	}
	if empty, err := to.Empty(t.Context()); empty || err != nil {
		t.Errorf("a bucket that holds something is empty: %t, %v", empty, err)
	}
	if had, err := to.HasBinary(t.Context(), stored.SHA256); !had || err != nil {
		t.Errorf("the program is there: %t, %v", had, err)
	}
	reader, err := to.OpenLog(t.Context(), "moved-run", 1)
	if err != nil {
		t.Fatal(err)
	}
	if reader.Size() != int64(len(text)) || !reader.Complete() {
		t.Errorf("the log has %d bytes, want %d", reader.Size(), len(text))
	}
	content, err := to.GetArtifact(t.Context(), "moved-run", 2, "deep/a b.csv", digest)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); string(got) != "1,2\n" || err != nil {
		t.Errorf("the artifact is %q, %v", got, err)
	}
}

func TestObjectsKeepToTheirPlaces(t *testing.T) {
	store := openStore(t)
	for _, key := range []string{
		"", "tidewheel.json", "../binaries/x", "binaries/../../etc/passwd", "binaries/abc", "logs/run/1/../../x", "logs/run/0/index.json",
		"logs/run/01/index.json", "logs/run/1/1", "logs/run/1/index.json/x", "logs/a b/1/index.json", "artifacts/run/1/../x", "artifacts/run/1", "staging/x",
	} {
		if err := store.PutObject(t.Context(), key, strings.NewReader("x"), 1); err == nil {
			t.Errorf("%q was stored", key)
		}
		if _, _, err := store.OpenObject(t.Context(), key); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%q was looked for: %v", key, err)
		}
	}
}

func TestAnObjectThatIsCutOffIsNotStored(t *testing.T) {
	store := openStore(t)
	for _, size := range []int64{10, 3 * partSize} {
		content := io.LimitReader(noise(9, size), size-1)
		if err := store.PutObject(t.Context(), "artifacts/cut/1/file", content, size); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if _, _, err := store.OpenObject(t.Context(), "artifacts/cut/1/file"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%d bytes: something is left: %v", size, err)
		}
	}
}
