package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// removing runs a test with the loop that carries removals out, on a clock that goes on as the test sleeps.
func removing(t *testing.T, test func(t *testing.T, w *webtest.World, pass func(time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := webtest.New(t, service.Config{Now: func() time.Time { return webtest.Start.Add(time.Since(began)) }})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.RunRemovals(ctx) }()
		test(t, w, func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		})
		stop()
		<-ended
	})
}

func left(t *testing.T, w *webtest.World) string {
	t.Helper()
	return names(t, w, service.ListQuery{Limit: 100})
}

func TestADeletionIsDoneOnceTheTimeToUndoItIsOver(t *testing.T) {
	removing(t, func(t *testing.T, w *webtest.World, pass func(time.Duration)) {
		w.PutBinary(t, "report")
		for _, name := range []string{"a", "b", "c"} {
			w.PutJob(t, `{"name":"`+name+`","binary":"report"}`)
		}
		removal, err := w.Remove(t.Context(), "default", "ada", service.RemovedJobs, []string{"a", "c", "gone"})
		if err != nil {
			t.Fatal(err)
		}
		about, err := w.Removing(t.Context(), "default", service.RemovedJobs)
		if err != nil || len(about) != 2 || !about["a"] || !about["c"] {
			t.Errorf("about to be deleted: %v, %v", about, err)
		}
		pass(service.UndoFor - time.Second)
		if got := left(t, w); got != "abc" {
			t.Errorf("deleted before its time: %q are left", got)
		}
		pass(2 * time.Second)
		if got := left(t, w); got != "b" {
			t.Errorf("%q are left, want b", got)
		}
		_, err = w.Undo(t.Context(), "default", "ada", removal.ID)
		refused(t, err, service.KindConflict, "too_late")
		entries, _, err := w.Audit.List(t.Context(), audit.Filter{Limit: 10})
		if err != nil || len(entries) != 1 || entries[0].By != "ada" || len(entries[0].Changes) != 2 {
			t.Errorf("the audit log says %+v, %v", entries, err)
		}
	})
}

func TestADeletionThatIsTakenBackIsNotDone(t *testing.T) {
	removing(t, func(t *testing.T, w *webtest.World, pass func(time.Duration)) {
		w.PutBinary(t, "report")
		w.PutJob(t, `{"name":"a","binary":"report"}`)
		removal, err := w.Remove(t.Context(), "default", "ada", service.RemovedJobs, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Undo(t.Context(), "default", "bob", removal.ID)
		refused(t, err, service.KindNotFound, "removal_not_found")
		if _, err := w.Undo(t.Context(), "default", "ada", removal.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if got := left(t, w); got != "a" {
			t.Error("it was deleted")
		}
	})
}

func TestADeletionLeavesWhatHasTakenTheName(t *testing.T) {
	removing(t, func(t *testing.T, w *webtest.World, pass func(time.Duration)) {
		w.PutBinary(t, "report")
		w.PutJob(t, `{"name":"a","binary":"report"}`)
		removal, err := w.Remove(t.Context(), "default", "ada", service.RemovedJobs, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Jobs.Delete(t.Context(), "default", "a", "bob", 0); err != nil {
			t.Fatal(err)
		}
		w.PutJob(t, `{"name":"a","binary":"report","description":"another"}`)
		pass(service.UndoFor + time.Second)
		if got := left(t, w); got != "a" {
			t.Error("the new job was deleted")
		}
		if removal, err = w.Removal(t.Context(), "default", "ada", removal.ID); err != nil || removal.Refusals() == "" {
			t.Errorf("it says %q, %v", removal.Refusals(), err)
		}
	})
}

func TestADeletionThatAnotherServerHasLeftIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := webtest.New(t)
		w.PutBinary(t, "report")
		w.PutJob(t, `{"name":"a","binary":"report"}`)
		if _, err := w.Remove(t.Context(), "default", "ada", service.RemovedJobs, []string{"a"}); err != nil {
			t.Fatal(err)
		}
		w.Now = w.Now.Add(time.Hour) // no server was there
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.RunRemovals(ctx) }()
		synctest.Wait()
		stop()
		<-ended
		if got := left(t, w); got != "" {
			t.Errorf("%q are left", got)
		}
	})
}

func TestABinaryInUseIsRefusedAtOnce(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"a","binary":"report"}`)
	_, err := w.Remove(t.Context(), "default", "ada", service.RemovedBinaries, []string{"report"})
	refused(t, err, service.KindConflict, "binary_in_use")
}

func TestDeadLettersArePurgedOnceTheTimeToUndoItIsOver(t *testing.T) {
	removing(t, func(t *testing.T, w *webtest.World, pass func(time.Duration)) {
		w.PutBinary(t, "report")
		job := w.PutJob(t, `{"name":"a","binary":"report"}`)
		letter := dead(t, w, job, w.Now)
		if _, err := w.Remove(t.Context(), "default", "ada", service.RemovedDeadLetters, []string{letter.RunID}); err != nil {
			t.Fatal(err)
		}
		pass(service.UndoFor + time.Second)
		_, err := w.DeadLetter(t.Context(), "default", letter.RunID)
		refused(t, err, service.KindNotFound, "dead_letter_not_found")
	})
}
