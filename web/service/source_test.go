package service_test

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

const worded = "# nightly, after the shops close\nname: a\nkind: Job\nbinary: report\ntimeout: 60s\n"

func TestCommentsOfAJobAreKept(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	before := int64(1) // the generation
	save := func(text string, want service.Change, generation, revision int64, source string) {
		t.Helper()
		document := documents(t, text)[0]
		wakes := len(w.Queue.Wakes())
		_, change, err := w.Jobs.Save(t.Context(), "default", document.Job, service.Save{By: "ann", Message: text[:8], Source: document.Source})
		if err != nil || change != want {
			t.Fatalf("%s, %v, want %s", change, err, want)
		}
		job, err := w.Jobs.Get(t.Context(), "default", "a")
		if err != nil || job.Generation != generation || job.Revision != revision || job.Source != source {
			t.Fatalf("generation %d, revision %d, source %q, %v", job.Generation, job.Revision, job.Source, err)
		}
		if woken := len(w.Queue.Wakes()) > wakes; woken != (want == service.Created || generation > before) {
			t.Errorf("the engine was woken: %v", woken)
		}
		before = generation
	}
	const reworded = "# another comment\nkind: Job\nname: a\nbinary: report\ntimeout: 1m\n"
	const edited = "# longer\nkind: Job\nname: a\nbinary: report\ntimeout: 2m\n"
	save(worded, service.Created, 1, 1, worded)
	save(worded, service.Unchanged, 1, 1, worded)
	save(reworded, service.Changed, 1, 2, reworded)
	first, err := w.Jobs.Generation(t.Context(), "default", "a", 1)
	if err != nil || first.Source != reworded || first.Message != worded[:8] {
		t.Errorf("the first generation: %q, message %q, %v", first.Source, first.Message, err)
	}
	save(`{"kind":"Job","name":"a","binary":"report","timeout":"1m"}`, service.Unchanged, 1, 2, reworded)
	save(edited, service.Changed, 2, 3, edited)
	difference, err := w.Jobs.Difference(t.Context(), "default", "a", 1, 2)
	if err != nil || !strings.Contains(difference, "-# another comment\n+# longer\n") || !strings.Contains(difference, "+timeout: 2m") {
		t.Errorf("difference %q, %v", difference, err)
	}
	restored, change, err := w.Jobs.Restore(t.Context(), "default", "a", 1, "ann", "")
	if err != nil || change != service.Changed || restored.Source != reworded || restored.Generation != 3 {
		t.Errorf("restored %+v, %s, %v", restored, change, err)
	}
	paused, err := w.Jobs.Pause(t.Context(), "default", "a", "ann", "")
	if err != nil || paused.Source != reworded {
		t.Errorf("paused %+v, %v", paused, err)
	}
	save(`{"kind":"Job","name":"a","binary":"report","timeout":"3m"}`, service.Changed, 4, 6, "")
	if difference, err = w.Jobs.Difference(t.Context(), "default", "a", 3, 4); err != nil || strings.Contains(difference, "comment") {
		t.Errorf("a difference to what has no source shows comments: %q, %v", difference, err)
	}
	encoded, change, err := w.Jobs.Save(t.Context(), "default", documents(t, "kind: Job\nname: a\nbinary: report\ntimeout: 3m\n")[0].Job,
		service.Save{Source: "kind: Job\nname: a\nbinary: report\ntimeout: 3m\n"})
	if err != nil || change != service.Unchanged || encoded.Source != "" {
		t.Errorf("what the editor shows of a job without a source: %s, %v", change, err)
	}
}

func TestCommentsOfADAGAreKept(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	for i, text := range []string{"# one\n" + diamond, "# two\n" + diamond} {
		applied, err := w.ApplyDocuments(t.Context(), "default", documents(t, text), service.Apply{By: "ann"})
		if err != nil || applied[0].Generation != 1 || applied[0].Change != []service.Change{service.Created, service.Changed}[i] {
			t.Fatalf("%+v, %v", applied, err)
		}
		dag, err := w.DAGs.Get(t.Context(), "default", "etl")
		if err != nil || dag.Source != text || dag.Revision != int64(i+1) {
			t.Fatalf("revision %d, source %q, %v", dag.Revision, dag.Source, err)
		}
	}
	edited := strings.Replace("# three\n"+diamond, "0 * * * *", "5 * * * *", 1)
	if _, err := w.ApplyDocuments(t.Context(), "default", documents(t, edited), service.Apply{}); err != nil {
		t.Fatal(err)
	}
	difference, err := w.DAGs.Difference(t.Context(), "default", "etl", 1, 2)
	if err != nil || !strings.Contains(difference, "-# two\n+# three\n") {
		t.Errorf("difference %q, %v", difference, err)
	}
	restored, _, err := w.DAGs.Restore(t.Context(), "default", "etl", 1, "ann", "")
	if err != nil || restored.Source != "# two\n"+diamond {
		t.Errorf("restored %q, %v", restored.Source, err)
	}
}
