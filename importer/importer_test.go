package importer_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/importer"
	"github.com/tidewheel/tidewheel/spec"
)

var update = flag.Bool("update", false, "write what is there now as what is wanted")

// read imports one file of testdata by its name.
func read(name, text string) (importer.Result, error) {
	switch {
	case strings.HasPrefix(name, "crontab"):
		return importer.Crontab(text, strings.Contains(name, "system")), nil
	case strings.HasPrefix(name, "kubernetes"):
		return importer.Kubernetes(text)
	case strings.HasPrefix(name, "argo"):
		return importer.Argo(text)
	case strings.HasPrefix(name, "dagu"):
		return importer.Dagu(text, strings.TrimSuffix(name, filepath.Ext(name)))
	}
	return importer.Airflow(text)
}

func TestFilesBecomeDefinitionsAndNotes(t *testing.T) {
	names, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".golden") || name == "fuzz" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			result, err := read(name, string(text))
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, &result)
			if *update {
				if err := os.WriteFile(path+".golden", got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got; run go test ./importer -update if it is meant:\n%s", diff)
			}
		})
	}
}

// write returns the documents as YAML, which must be accepted as they stand, and the notes.
func write(t testing.TB, result *importer.Result) []byte {
	var out bytes.Buffer
	for _, document := range result.Documents {
		encoded, err := encode(document)
		if err != nil {
			t.Fatal(err)
		}
		read, problems := spec.Decode("again", encoded)
		if len(problems) > 0 || len(read) != 1 {
			t.Fatalf("%s is not accepted: %v\n%s", document.Name(), problems, encoded)
		}
		fmt.Fprintf(&out, "%s---\n", encoded)
	}
	for _, note := range result.Notes {
		fmt.Fprintf(&out, "# %d: %s\n", note.Line, note.Text)
	}
	return out.Bytes()
}

func encode(document spec.Document) ([]byte, error) {
	if document.DAG != nil {
		return spec.EncodeDAG(document.DAG)
	}
	return spec.Encode(document.Job)
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"kubernetes": "a: [", "argo": "a: [", "dagu": "\tx", "airflow": "import os\n",
	} {
		if _, err := read(name, text); err == nil {
			t.Errorf("%s: %q is read", name, text)
		}
	}
}

func FuzzImport(f *testing.F) {
	formats := []string{"crontab", "crontab-system", "kubernetes", "argo", "dagu", "airflow"}
	names, _ := filepath.Glob("testdata/*")
	for _, path := range names {
		if text, err := os.ReadFile(path); err == nil {
			for i := range formats {
				f.Add(byte(i), string(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, format byte, text string) {
		result, err := read(formats[int(format)%len(formats)], text)
		if err == nil {
			write(t, &result)
		}
	})
}
