package upgrade

import (
	"archive/tar"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

//go:embed testdata/*.tar.zst
var fixtures embed.FS

// The stores of fixtures.
const (
	SQLite  = "sqlite"
	MongoDB = "mongodb"
)

// Fixture is what an earlier version left behind, unpacked.
type Fixture struct {
	Dir    string    `json:"-"`
	Commit string    `json:"commit"`
	Store  string    `json:"store"`
	Ended  string    `json:"ended"` // stopped or killed
	At     time.Time `json:"at"`    // its end
	Has    string    `json:"has"`   // dags, users, secrets, incidents, as far as its version knew them
}

// Names returns the fixtures whose name begins with a prefix.
func Names(t *testing.T, prefix string) []string {
	t.Helper()
	entries, err := fixtures.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if name, is := strings.CutSuffix(entry.Name(), ".tar.zst"); is && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// open unpacks a fixture into a folder of the test.
func open(t *testing.T, name string) *Fixture {
	t.Helper()
	packed, err := fixtures.Open("testdata/" + name + ".tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := zstd.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	f := &Fixture{Dir: t.TempDir()}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpack(f.Dir, header, archive)
		}
		if err != nil {
			t.Fatalf("unpack %s: %v", name, err)
		}
	}
	f.read(t, "fixture.json", f)
	return f
}

// attribute begins the names of extended attributes in an archive: the embedded S3 keeps what it knows of objects in them.
const attribute = "SCHILY.xattr."

func unpack(dir string, header *tar.Header, content io.Reader) error {
	path := filepath.Join(dir, filepath.FromSlash(header.Name))
	switch header.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		if _, err := io.Copy(file, content); err != nil {
			return errors.Join(err, file.Close())
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	for key, value := range header.PAXRecords {
		if name, is := strings.CutPrefix(key, attribute); is {
			if err := unix.Lsetxattr(path, name, []byte(value), 0); err != nil {
				return &os.PathError{Op: "set attribute " + name + ", which TMPDIR's file system must have,", Path: path, Err: err}
			}
		}
	}
	return nil
}

// has reports whether the version of the fixture knew something.
func (f *Fixture) has(what string) bool {
	for _, one := range strings.Fields(f.Has) {
		if one == what {
			return true
		}
	}
	return false
}

// read reads a file of JSON.
func (f *Fixture) read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Dir, name))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// answered reads the list that the old server's API gave, its entries as they were.
func (f *Fixture) answered(t *testing.T, list string) []map[string]any {
	t.Helper()
	var answer struct {
		Items []map[string]any `json:"items"`
		Next  string           `json:"next"`
	}
	f.read(t, "answers/"+list+".json", &answer)
	if len(answer.Items) == 0 || answer.Next != "" {
		t.Fatalf("the fixture has %d %s on its first page, and the next is %q: it must hold all of them", len(answer.Items), list, answer.Next)
	}
	return answer.Items
}
