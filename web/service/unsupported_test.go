package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// A job that an earlier version has stored with keys that do nothing runs on and can be paused; its page warns, and it
// cannot be saved like that again.
func TestStoredJobsWithUnsupportedKeysRunOnAndCannotBeSaved(t *testing.T) {
	for words, change := range map[string]func(*spec.Job){
		"retry.delay does nothing with one attempt": func(j *spec.Job) { j.Retry.Delay = spec.Duration(7 * time.Second) },
		"retry.on does nothing with one attempt":    func(j *spec.Job) { j.Retry.On = []int{75} },
		"catch_up.window does nothing with catch_up.policy none": func(j *spec.Job) {
			j.CatchUp = spec.CatchUp{Policy: spec.CatchUpNone, Window: spec.Duration(2 * time.Hour)}
		},
	} {
		w := webtest.New(t)
		w.PutBinary(t, "report")
		w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: tiers("light"), Slots: 4})
		job := w.PutJob(t, `{"name":"a","binary":"report","every":"1m","tier":"light"}`)
		change(&job.Spec)
		job.Revision++
		job.Generation++
		if err := w.Store.Jobs().Replace(t.Context(), job); err != nil {
			t.Fatal(err)
		}

		if _, err := w.Jobs.Pause(t.Context(), "default", "a", "mira", ""); err != nil {
			t.Errorf("%s: pause: %v", words, err)
		}
		if _, err := w.Jobs.Resume(t.Context(), "default", "a", "mira"); err != nil {
			t.Errorf("%s: resume: %v", words, err)
		}
		if _, _, err := w.StartRun(t.Context(), "default", "a", service.Start{By: "mira"}); err != nil {
			t.Errorf("%s: run: %v", words, err)
		}
		stored, err := w.Jobs.Get(t.Context(), "default", "a")
		if err != nil {
			t.Fatal(err)
		}
		found, err := w.Hindrances(t.Context(), &stored)
		if err != nil || len(found) != 1 || found[0].Code != "unsupported" || found[0].Stops || !strings.Contains(found[0].Words, words) {
			t.Errorf("%s: its page says %+v, %v", words, found, err)
		}

		_, _, err = w.Jobs.Save(t.Context(), "default", &stored.Spec, service.Save{By: "mira"})
		refused(t, err, service.KindInvalid, "invalid_definition")
		_, _, err = w.Jobs.Restore(t.Context(), "default", "a", 2, "mira", "")
		refused(t, err, service.KindInvalid, "invalid_definition")
	}
}

func TestStoredDAGsWithUnsupportedKeysWarnAndCannotBeSaved(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: tiers("light", "medium"), Slots: 4})
	dag := w.PutDAG(t, "kind: DAG\nname: d\ntasks:\n  t: {binary: report}\n")
	dag.Spec.CatchUp = spec.CatchUp{Policy: spec.CatchUpNone, Window: spec.Duration(2 * time.Hour)}
	found, err := w.TaskHindrances(t.Context(), &dag)
	if err != nil || len(found) != 1 || found[0].Code != "unsupported" || found[0].Stops {
		t.Errorf("its page says %+v, %v", found, err)
	}
	_, _, err = w.DAGs.Save(t.Context(), "default", &dag.Spec, service.Save{By: "mira"})
	refused(t, err, service.KindInvalid, "invalid_definition")
}

// An executor starts ELF programs and JARs by themselves: an interpreter would be ignored.
func TestAnInterpreterThatWouldBeIgnoredIsRefused(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "script")
	w.PutBinary(t, "compiled")
	binary, err := w.Binary(t.Context(), "default", "compiled")
	if err != nil {
		t.Fatal(err)
	}
	binary.Versions[0].Kind = "elf"
	binary.Revision++
	if err := w.Store.ReplaceBinary(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	w.PutJob(t, `{"name":"a","binary":"script","interpreter":"sh"}`) // instead of what stands behind its #!
	job, _ := spec.DecodeJob("", []byte(`{"name":"b","binary":"compiled","interpreter":"sh"}`))
	_, _, err = w.Jobs.Save(t.Context(), "default", job, service.Save{By: "mira"})
	refused(t, err, service.KindInvalid, "interpreter_unused")

	const head = "kind: DAG\nname: d\n"
	w.PutDAG(t, head+"defaults: {interpreter: sh}\ntasks:\n  one: {binary: script}\n  two: {binary: compiled}\n") // meant for others
	documents, _ := spec.Decode("", []byte(head+"tasks:\n  one: {binary: compiled, interpreter: sh}\n"))
	_, _, err = w.DAGs.Save(t.Context(), "default", documents[0].DAG, service.Save{By: "mira"})
	refused(t, err, service.KindInvalid, "interpreter_unused")
}
