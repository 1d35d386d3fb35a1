package spec_test

import (
	"fmt"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

func TestKeysAreLocatedInTheirFile(t *testing.T) {
	text := "kind: Job\nname: a\nbinary: b\n---\n\n# About it.\n\nkind: DAG\nname: d\ntasks:\n  join:\n    binary: b\n    secrets: {KEY: x}\n"
	documents, problems := spec.Decode("f.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for path, want := range map[string]string{
		"tasks.join.secrets.KEY": "13:15", "tasks.join.secrets.OTHER": "13:5", "tasks.join": "11:3", "name": "9:1", "nothing": "0:0", "name.more": "9:1",
	} {
		line, column := documents[1].Locate(path)
		if got := fmt.Sprint(line, ":", column); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	if line, column := (spec.Document{}).Locate("name"); line != 0 || column != 0 {
		t.Error("a document without a source")
	}
}
