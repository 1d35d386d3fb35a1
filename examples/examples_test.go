package examples

import (
	"io/fs"
	"path"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

// Every example's job file must be one that the server takes, and be named like its folder and its program.
func TestJobFilesAreValid(t *testing.T) {
	files, err := fs.Glob(FS, "*/job.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d job files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(FS, file)
		if err != nil {
			t.Fatal(err)
		}
		documents, problems := spec.Decode(file, text)
		if len(problems) > 0 {
			t.Error(problems)
			continue
		}
		name := path.Dir(file)
		if len(documents) != 1 || documents[0].Job.Name != name {
			t.Errorf("%s does not hold exactly the job %q", file, name)
			continue
		}
		if ref, err := documents[0].Job.Binding(); err != nil || ref.Name != name || ref.Alias != "stable" {
			t.Errorf("%s runs %q, not %s@stable", file, documents[0].Job.Binary, name)
		}
	}
}
