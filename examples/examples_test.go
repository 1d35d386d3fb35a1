package examples

import (
	"io/fs"
	"os"
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

// Every example's DAG must be one that the server takes, be named like its folder, and run programs that lie there.
func TestDAGFilesAreValid(t *testing.T) {
	files, err := fs.Glob(FS, "*/dag.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d DAG files, %v", len(files), err)
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
		folder := path.Dir(file)
		if len(documents) != 1 || documents[0].DAG == nil || documents[0].DAG.Name != folder {
			t.Errorf("%s does not hold exactly the DAG %q", file, folder)
			continue
		}
		dag := documents[0].DAG
		for i := range dag.Tasks {
			ref, err := dag.TaskJob(i).Binding()
			if err != nil || ref.Alias != "stable" {
				t.Errorf("%s: task %s runs %q, not a program's @stable", file, dag.Tasks[i].Name, dag.TaskJob(i).Binary)
				continue
			}
			found := false
			for _, name := range []string{ref.Name + ".sh", ref.Name + ".py"} {
				_, err := fs.Stat(FS, path.Join(folder, name))
				found = found || err == nil
			}
			if _, err := os.Stat(path.Join(folder, "main.go")); !found && (err != nil || ref.Name != folder) {
				t.Errorf("%s: the program of task %s is not there", file, dag.Tasks[i].Name)
			}
		}
	}
}
