package blob

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func section(data []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
}

func putArtifact(t *testing.T, s *Store, run string, attempt int, name string, data []byte) string {
	t.Helper()
	digest, err := s.PutArtifact(t.Context(), run, attempt, name, section(data))
	if err != nil {
		t.Fatalf("put %q: %v", name, err)
	}
	return digest
}

// Whatever a file may be called, its bytes come back.
func TestArtifactsComeBack(t *testing.T) {
	store := openStore(t)
	big, err := io.ReadAll(noise(1, 20<<20))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a.csv": []byte("1,2\n"), "empty": {}, "deep/er/b.csv": big, "with space": []byte("s"), "ü/ß%20+&?#=;:@,.txt": []byte("ü"),
		"'\"<>*|^~`$!()[]{}": []byte("q"), ".hidden/.x": []byte("h"), "..two": []byte("d"), " ": []byte("blank"),
		strings.Repeat("n", 255) + "/" + strings.Repeat("m", 255): []byte("long"),
	} {
		digest := putArtifact(t, store, "run", 1, name, data)
		if want := digestOf(t, bytes.NewReader(data)); digest != want {
			t.Errorf("%q has digest %s, want %s", name, digest, want)
		}
		content, err := store.GetArtifact(t.Context(), "run", 1, name, digest)
		if err != nil {
			t.Errorf("get %q: %v", name, err)
			continue
		}
		got, err := io.ReadAll(content)
		if closeErr := content.Close(); err != nil || closeErr != nil || !bytes.Equal(got, data) {
			t.Errorf("%q came back as %d bytes, %v, %v", name, len(got), err, closeErr)
		}
	}
	part, err := store.GetArtifactRange(t.Context(), "run", 1, "a.csv", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if got, err := io.ReadAll(part); string(got) != "2" || err != nil {
		t.Errorf("a range is %q, %v", got, err)
	}
}

func TestArtifactsThatAreNotThereOrDamaged(t *testing.T) {
	store := openStore(t)
	digest := putArtifact(t, store, "run", 1, "a", []byte("first"))
	putArtifact(t, store, "run", 1, "a", []byte("again")) // a try whose answer was lost
	content, err := store.GetArtifact(t.Context(), "run", 1, "a", digest)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var wrong *DigestError
	if _, err := io.ReadAll(content); !errors.As(err, &wrong) {
		t.Errorf("other bytes: %v", err)
	}
	for _, place := range []struct {
		run     string
		attempt int
		name    string
	}{{"other", 1, "a"}, {"run", 2, "a"}, {"run", 1, "b"}} {
		if _, err := store.GetArtifact(t.Context(), place.run, place.attempt, place.name, digest); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %v", place, err)
		}
	}
	for _, name := range []string{"", "/a", "a/", "../a", "a/../b", "./a", "a//b", "\xff"} {
		if _, err := store.PutArtifact(t.Context(), "run", 1, name, section(nil)); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	if _, err := store.PutArtifact(t.Context(), "run/1/..", 1, "a", section(nil)); err == nil {
		t.Error("a path is taken for a run")
	}
	short := io.NewSectionReader(strings.NewReader("shor"), 0, 5)
	if _, err := store.PutArtifact(t.Context(), "run", 1, "cut", short); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that shrinks: %v", err)
	}
}
