package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// crowd makes jobs that all fire at two, of which the last runs took a time, and an executor with some slots.
func crowd(t *testing.T, jobs, slots int, took time.Duration) *webtest.World {
	t.Helper()
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: []spec.Tier{spec.TierLight}, Slots: slots})
	for i := range jobs {
		job := w.PutJob(t, fmt.Sprintf(`{"name":"night-%d","binary":"report","schedule":"0 2 * * *","timezone":"Europe/Berlin","tier":"light"}`, i))
		run := webtest.Ended(w.Running(job, w.Now.Add(-24*time.Hour)), engine.StatusSucceeded, "")
		run.FinishedAt = run.StartedAt.Add(took)
		w.PutRun(t, run)
	}
	return w
}

func collisionsOf(t *testing.T, w *webtest.World) service.Collisions {
	t.Helper()
	found, err := w.Collisions(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMoreRunsAtOnceThanSlotsAreACollision(t *testing.T) {
	w := crowd(t, 5, 2, time.Minute)
	found := collisionsOf(t, w)
	if len(found.List) != 1 {
		t.Fatalf("there are %d collisions: %+v", len(found.List), found.List)
	}
	one := found.List[0]
	if one.Runs != 5 || one.Peak != 5 || one.Capacity != 2 || len(one.At) != 7 || len(one.Of) != 5 || one.At[0].UTC().Format("15:04") != "01:00" {
		t.Errorf("it is %+v", one)
	}
	if one.Lag < time.Minute || one.Lag > 2*time.Minute {
		t.Errorf("the last of five runs of a minute waits %s for two slots", one.Lag)
	}
	if of := one.Of[0]; of.Takes != time.Minute || strings.Join(of.Spread, "") != "H 2 * * *" {
		t.Errorf("a schedule of it is %+v", of)
	}
}

func TestRunsThatFitAreNoCollision(t *testing.T) {
	if found := collisionsOf(t, crowd(t, 5, 5, time.Minute)); len(found.List) != 0 {
		t.Errorf("five runs collide on five slots: %+v", found.List)
	}
	found := collisionsOf(t, crowd(t, 2, 0, time.Minute))
	if len(found.List) != 0 || len(found.Notes) != 1 {
		t.Errorf("without executors: %+v", found)
	}
}

// Runs that begin at other times collide, too, if those before them go on.
func TestLongRunsCollideWithThoseThatBeginLater(t *testing.T) {
	w := crowd(t, 2, 2, time.Hour)
	w.PutJob(t, `{"name":"later","binary":"report","schedule":"30 2 * * *","timezone":"Europe/Berlin","tier":"light"}`)
	found := collisionsOf(t, w)
	if len(found.List) != 1 || found.List[0].Peak != 3 || found.List[0].At[0].UTC().Format("15:04") != "01:30" || found.List[0].Runs != 1 {
		t.Errorf("collisions are %+v", found.List)
	}
}

func TestSpreadKeepsTheHourAndSavesEachByItself(t *testing.T) {
	w := crowd(t, 3, 1, time.Minute)
	if len(collisionsOf(t, w).List) == 0 {
		t.Fatal("they do not collide")
	}
	these := []service.SpreadOf{{Name: "night-0"}, {Name: "night-1"}, {Name: "night-2"}, {Name: "gone"}}
	seen, err := w.Spread(t.Context(), "default", these, "mira", true)
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r := seen[i]
		if r.Saved || r.Problem != "" || strings.Join(r.After, "") != "H 2 * * *" || r.Revision == 0 || len(r.Old) == 0 || len(r.New) == 0 {
			t.Fatalf("seen before: %+v", r)
		}
		if old, fresh := r.Old[0].In(berlin), r.New[0].In(berlin); old.Format("15:04") != "02:00" || fresh.Hour() != 2 {
			t.Errorf("%s moves from %s to %s", r.Name, old, fresh)
		}
		these[i].Revision = r.Revision
	}
	if seen[3].Problem == "" {
		t.Error("a job that is not there is spread")
	}
	if job, _ := w.Jobs.Get(t.Context(), "default", "night-0"); job.Spec.Schedule[0] != "0 2 * * *" {
		t.Errorf("what was only shown is saved: %s", job.Spec.Schedule)
	}
	if _, err := w.Jobs.Pause(t.Context(), "default", "night-1", "ada", ""); err != nil { // it is another revision by now
		t.Fatal(err)
	}
	done, err := w.Spread(t.Context(), "default", these, "mira", false)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true, false} {
		if done[i].Saved != want || (done[i].Problem == "") != want {
			t.Errorf("%s: %+v", these[i].Name, done[i])
		}
	}
	job, err := w.Jobs.Get(t.Context(), "default", "night-2")
	if err != nil || job.Spec.Schedule[0] != "H 2 * * *" || job.Generation != 2 || job.UpdatedBy != "mira" {
		t.Errorf("it is saved as %s, generation %d, by %s (%v)", job.Spec.Schedule, job.Generation, job.UpdatedBy, err)
	}
	if found := collisionsOf(t, w); len(found.List) != 0 {
		t.Errorf("they collide still: %+v", found.List)
	}
	again, err := w.Spread(t.Context(), "default", these[:1], "mira", false)
	if err != nil || again[0].Saved {
		t.Errorf("it is spread twice: %+v, %v", again, err)
	}
}

func TestSpreadKeepsComments(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	const text = "kind: Job\nname: night\nbinary: report\nschedule: \"0 2 * * *\"   # after the backup\n"
	documents, problems := spec.Decode("", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if _, _, err := w.Jobs.Save(t.Context(), "default", documents[0].Job, service.Save{Source: documents[0].Source}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Spread(t.Context(), "default", []service.SpreadOf{{Name: "night"}}, "mira", false); err != nil {
		t.Fatal(err)
	}
	job, err := w.Jobs.Get(t.Context(), "default", "night")
	if err != nil || !strings.Contains(job.Source, "schedule: \"H 2 * * *\"   # after the backup") {
		t.Errorf("its text is %q (%v)", job.Source, err)
	}
}

func TestOnlyAFixedMinuteIsSpread(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	for schedule, want := range map[string]string{
		"0 2 * * *": "H 2 * * *", "15 2 * * MON": "H 2 * * MON", "*/15 * * * *": "H/15 * * * *", "30 0 2 * * *": "30 H 2 * * *", "@daily": "H 0 * * *",
		"@hourly": "H * * * *", "0 2 1 1 * 2030": "H 2 1 1 * 2030", "* * * * *": "", "0,30 * * * *": "", "H 3 * * *": "", "@every 5m": "",
	} {
		w.PutJob(t, fmt.Sprintf(`{"name":"one","binary":"report","schedule":%q}`, schedule))
		seen, err := w.Spread(t.Context(), "default", []service.SpreadOf{{Name: "one"}}, "", true)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(seen[0].After, "")
		if got != want || (seen[0].Problem == "") != (want != "") {
			t.Errorf("%s becomes %q (%s), want %q", schedule, got, seen[0].Problem, want)
		}
		if err := w.Jobs.Delete(t.Context(), "default", "one", "", 0); err != nil {
			t.Fatal(err)
		}
	}
}

// heldStore answers for the jobs of one namespace only once it may.
type heldStore struct {
	*webtest.Store
	jobs heldJobs
}

type heldJobs struct {
	engine.Definitions[spec.Job]
	asked, may chan struct{}
}

func (s heldStore) Jobs() engine.Definitions[spec.Job] { return s.jobs }

func (j heldJobs) List(ctx context.Context, filter engine.DefinitionFilter) ([]engine.Job, string, error) {
	if filter.Namespace == "held" {
		close(j.asked)
		<-j.may
	}
	return j.Definitions.List(ctx, filter)
}

func TestCollisionsOfANamespaceDoNotWaitForThoseOfAnother(t *testing.T) {
	w := crowd(t, 5, 2, time.Minute)
	held := heldJobs{w.Store.Jobs(), make(chan struct{}), make(chan struct{})}
	s := service.New(heldStore{w.Store, held}, w.Blobs, w.Queue, slog.New(slog.DiscardHandler), service.Config{Now: func() time.Time { return w.Now }})
	ended := make(chan error)
	go func() {
		_, err := s.Collisions(t.Context(), "held")
		ended <- err
	}()
	<-held.asked
	found, err := s.Collisions(t.Context(), "default")
	close(held.may)
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if len(found.List) != 1 {
		t.Errorf("there are %d collisions", len(found.List))
	}
}
