package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// die puts a dead run of a job, with its letter.
func (s *site) die(t *testing.T, name string, at time.Time) engine.Run {
	t.Helper()
	job, err := s.Jobs.Get(t.Context(), engine.DefaultNamespace, name)
	if err != nil {
		t.Fatal(err)
	}
	run := s.Running(job, at)
	s.PutRun(t, run)
	run = webtest.Ended(run, engine.StatusDead, "no\n")
	s.PutRun(t, run)
	letter := engine.DeadLetter{RunID: run.ID, Namespace: run.Namespace, JobUID: run.JobUID, Job: run.Job, Error: "exit 3 <of the gauge>", Attempts: 4, At: at}
	s.Write(t, engine.Batch{DeadLetters: []engine.DeadLetter{letter}})
	return run
}

func (s *site) letters(t *testing.T) int {
	t.Helper()
	sum, err := s.SumDeadLetters(t.Context(), service.DeadLetterFilter{Namespace: engine.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	return len(sum.Letters)
}

func TestDeadLettersAreListedByPagesAndTeachWhereThereAreNone(t *testing.T) {
	s := newSite(t)
	if page := s.see(t, "/dead-letters"); !strings.Contains(page, "There are no dead letters.") || !strings.Contains(page, "max_attempts: 3") {
		t.Error("an empty list does not teach")
	}
	s.fill(t)
	for i := range 60 {
		s.die(t, "harbour-log", s.Now.Add(-time.Duration(i+1)*time.Hour))
	}
	first := s.see(t, "/dead-letters")
	for _, words := range []string{"61 runs, the newest first", "exit 3 &lt;of the gauge&gt;", `href="/dead-letters?cursor=`, "/dead-letters/replay?run=" + s.broken.ID, `data-live`} {
		if !strings.Contains(first, words) {
			t.Errorf("the list does not say %q", words)
		}
	}
	if n := strings.Count(first, `<tr id="letter-`); n != 50 {
		t.Errorf("%d on the first page", n)
	}
	_, after, _ := strings.Cut(first, `href="/dead-letters?cursor=`)
	cursor, _, _ := strings.Cut(after, `"`)
	if second := s.see(t, "/dead-letters?cursor="+cursor); strings.Count(second, `<tr id="letter-`) != 11 || strings.Contains(second, "data-live") {
		t.Error("the second page does not hold the rest, or refreshes")
	}
	if page := s.see(t, "/dead-letters?cursor=nonsense"); !strings.Contains(page, "no longer exists") {
		t.Error("a cursor of nowhere is not told of")
	}
	gauge := s.broken.Job
	if page := s.see(t, "/dead-letters?job="+gauge); strings.Count(page, `<tr id="letter-`) != 1 || !strings.Contains(page, "/dead-letters/purge?job="+gauge) {
		t.Error("the list is not narrowed to a job")
	}
	if page := s.see(t, "/dead-letters?job=nobody"); !strings.Contains(page, "No dead letter is of nobody.") {
		t.Error("a job without dead letters is not told of")
	}
	const died = "60 runs failed all their attempts"
	if overview := s.see(t, "/"); strings.Contains(overview, died) || !strings.Contains(overview, `href="/dead-letters"`) {
		t.Error("the overview asks for attention to a job that has recovered, or does not lead to its dead letters")
	}
	log, err := s.Jobs.Get(t.Context(), engine.DefaultNamespace, "harbour-log")
	if err != nil {
		t.Fatal(err)
	}
	run := s.Running(log, s.Now.Add(-3*time.Second).Truncate(time.Second))
	s.PutRun(t, run)
	s.PutRun(t, webtest.Ended(run, engine.StatusFailed, ""))
	overview := s.see(t, "/")
	for _, words := range []string{`href="/dead-letters"`, "dead letters", "/dead-letters/replay?job=harbour-log", died} {
		if !strings.Contains(overview, words) {
			t.Errorf("the overview does not say %q", words)
		}
	}
}

// What is asked says how many; what has died since stays.
func TestAllDeadLettersAreReplayedOrPurgedAfterAQuestion(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for i := range 3 {
		s.die(t, "harbour-log", s.Now.Add(-time.Duration(i+1)*time.Hour))
	}
	page := s.see(t, "/dead-letters/replay")
	for _, words := range []string{"4 dead runs", "Try 4 runs again", "harbour-log", s.broken.Job, `action="/dead-letters/replay"`} {
		if !strings.Contains(page, words) {
			t.Errorf("the question does not say %q", words)
		}
	}
	_, after, _ := strings.Cut(page, `name="until" value="`)
	until, _, _ := strings.Cut(after, `"`)
	s.die(t, "harbour-log", s.Now.Add(time.Minute))
	if at := s.act(t, "/dead-letters/replay", url.Values{"job": {"harbour-log"}, "until": {until}}); at != "/dead-letters?done=replay&job=harbour-log&n=3" {
		t.Errorf("leads to %s", at)
	}
	if page := s.see(t, "/dead-letters?done=replay&job=harbour-log&n=3"); !strings.Contains(page, "3 runs were queued for another attempt.") || strings.Contains(page, "done=replay") {
		t.Error("the list does not say what was done, or says it again and again")
	}
	if page := s.see(t, "/dead-letters/purge?job=harbour-log"); !strings.Contains(page, "4 dead runs of harbour-log") {
		t.Error("the question about one job does not say how many")
	}
	if at := s.act(t, "/dead-letters/purge", url.Values{"job": {"harbour-log"}, "until": {until}}); !strings.HasPrefix(at, "/dead-letters?job=harbour-log&undo=") {
		t.Errorf("leads to %s", at)
	} else if page := s.see(t, at); !strings.Contains(page, "3 dead letters are deleted in ten seconds.") {
		t.Error("it cannot be undone")
	}
	s.remove(t)
	if n := s.letters(t); n != 2 {
		t.Errorf("%d are left, want that of another job and the one that died since", n)
	}
	if response := s.ask(t, http.MethodPost, "/dead-letters/purge", url.Values{"until": {"nonsense"}}); response.Code != http.StatusUnprocessableEntity {
		t.Errorf("a form that nobody made is answered with %d", response.Code)
	}
}

func TestOneDeadLetterIsReplayedOrPurged(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	run := s.broken.ID
	for act, words := range map[string]string{"replay": "Try 1 run again", "purge": "Purge 1 dead letter"} {
		if page := s.see(t, "/dead-letters/"+act+"?run="+run); !strings.Contains(page, words) || !strings.Contains(page, "its 2 attempts are used up") {
			t.Errorf("the question does not say %q", words)
		}
	}
	for range 2 { // twice is once
		if at := s.act(t, "/dead-letters/replay", url.Values{"run": {run}}); at != "/dead-letters?done=replay&n=1" {
			t.Errorf("leads to %s", at)
		}
	}
	s.act(t, "/dead-letters/purge", url.Values{"run": {run}})
	s.remove(t)
	if at := s.act(t, "/dead-letters/purge", url.Values{"run": {run}}); at != "/dead-letters" || s.letters(t) != 0 {
		t.Errorf("purged twice leads to %s", at)
	}
	if response := s.ask(t, http.MethodGet, "/dead-letters/purge?run="+run, nil); response.Code != http.StatusNotFound || !strings.Contains(response.Body.String(), "There is nothing to do.") {
		t.Errorf("what is gone is asked about: %d", response.Code)
	}
	if page := s.see(t, "/dead-letters/purge"); !strings.Contains(page, "There is nothing to do.") {
		t.Error("with nothing left it is asked all the same")
	}
}

func TestRefusedReplayIsExplained(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	if err := s.Jobs.Delete(t.Context(), engine.DefaultNamespace, s.broken.Job, "ann", 0); err != nil {
		t.Fatal(err)
	}
	for _, form := range []url.Values{{"run": {s.broken.ID}}, {}} {
		response := s.ask(t, http.MethodPost, "/dead-letters/replay", form)
		if response.Code != http.StatusConflict || !strings.Contains(response.Body.String(), "was deleted: its runs cannot be tried again.") {
			t.Errorf("%v: %d %s", form, response.Code, response.Body)
		}
	}
}
