package clustertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

// period is the time from one slot of a job to its next.
const period = 2 * time.Second

// job is a job of the load, as far as the verdict must know it.
type job struct {
	name    string
	overlap string
	once    bool // at_most_once
	uid     string
	created time.Time
	paused  time.Time
}

// load is what the cluster is given to do.
type load struct {
	journal *journal
	jobs    []job
	dags    []string

	asking sync.WaitGroup
	asked  []string // manual runs that were acknowledged; complete when asking is done
}

// tiers are those of the jobs: most are light.
var tiers = []string{"light", "light", "medium", "light", "light", "medium", "light", "heavy", "light", "light"}

// newLoad makes as many jobs as are due each second, over the three tiers and with every policy, and some DAGs.
func newLoad(journal *journal, each int) *load {
	l := &load{journal: journal, dags: []string{"dag0", "dag1"}}
	for i := range each * int(period/time.Second) {
		l.jobs = append(l.jobs, job{name: fmt.Sprintf("job%03d", i), overlap: []string{"skip", "queue", "allow"}[i%3], once: i%7 == 3})
	}
	return l
}

func (l *load) text() string {
	var text strings.Builder
	for i := range l.jobs {
		j := &l.jobs[i]
		work, delivery := "0", "at_least_once"
		if i%10 == 7 {
			work = "0.3"
		}
		if j.once {
			delivery = "at_most_once"
		}
		fmt.Fprintf(&text, "---\nkind: Job\nname: %[1]s\nbinary: witness\nschedule: \"%[2]d-59/%[3]d * * * * *\"\ntier: %[4]s\noverlap: %[5]s\ndelivery: %[6]s\n"+
			"catch_up: {policy: all, window: 1h}\nretry: {max_attempts: 3, delay: 200ms}\nenv: {NAME: %[1]s, WORK: %[7]q, JOURNAL: %[8]q}\n",
			j.name, i%int(period/time.Second), int(period/time.Second), tiers[i%len(tiers)], j.overlap, delivery, work, l.journal.path)
	}
	fmt.Fprintf(&text, "---\nkind: Job\nname: byhand\nbinary: witness\noverlap: allow\nenv: {NAME: byhand, WORK: \"0\", JOURNAL: %q}\n", l.journal.path)
	for _, name := range l.dags {
		text.WriteString(l.dag(name, `schedule: "*/4 * * * * *"`))
	}
	return text.String()
}

// dag writes a DAG whose root has a schedule, or none.
func (l *load) dag(name, root string) string {
	return fmt.Sprintf("---\nkind: DAG\nname: %[1]s\ncatch_up: {policy: last, window: 1h}\n"+
		"defaults: {binary: witness, retry: {max_attempts: 3, delay: 200ms}, env: {NAME: %[1]s, WORK: \"0\", JOURNAL: %[2]q}}\ntasks:\n"+
		"  first: {%[3]s}\n  left: {needs: [first], tier: medium}\n  right: {needs: [first]}\n  last: {needs: [left, right], tier: heavy}\n", name, l.journal.path, root)
}

// begin uploads the program and defines the jobs, while nothing is broken yet, and asks for manual runs until stop.
func (l *load) begin(ctx context.Context, t *testing.T, apis []*client.Client) (stop func()) {
	t.Helper()
	if _, err := apis[0].UploadBinary(ctx, "witness", strings.NewReader(witness), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := apis[0].Apply(ctx, []client.File{{Name: "load.yaml", Data: []byte(l.text())}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range l.jobs {
		made, err := apis[1].Job(ctx, l.jobs[i].name)
		if err != nil {
			t.Fatal(err)
		}
		l.jobs[i].uid, l.jobs[i].created = made.UID, made.CreatedAt
	}
	ctx, cancel := context.WithCancel(ctx)
	l.asking.Go(func() { l.ask(ctx, apis) })
	stop = func() { cancel(); l.asking.Wait() }
	t.Cleanup(stop)
	return stop
}

// ask asks the web nodes in turn for manual runs until ctx ends, for each until it is acknowledged by one of them.
func (l *load) ask(ctx context.Context, apis []*client.Client) {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for try, number := 0, 0; ; try++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		trying, cancel := context.WithTimeout(ctx, 5*time.Second)
		run, err := apis[try%len(apis)].RunJob(trying, "byhand", wire.RunRequest{}, fmt.Sprintf("ask-%d", number))
		cancel()
		if err == nil {
			l.asked = append(l.asked, run.ID)
			number++ // else the same key again: it may have been taken, and is no second run then
		}
	}
}

// end lets no more be due.
func (l *load) end(ctx context.Context, t *testing.T, api *client.Client) {
	t.Helper()
	l.each(ctx, t, "pause", func(ctx context.Context, j *job) error {
		made, err := api.PauseJob(ctx, j.name, "")
		j.paused = made.PausedAt
		return err
	})
	for _, name := range l.dags {
		patiently(ctx, t, "edit "+name, func(ctx context.Context) error {
			_, err := api.Apply(ctx, []client.File{{Name: "end.yaml", Data: []byte(l.dag(name, ""))}}, client.ApplyOptions{})
			return err
		})
	}
}

// each does something with every job.
func (l *load) each(ctx context.Context, t *testing.T, what string, do func(context.Context, *job) error) {
	t.Helper()
	for i := range l.jobs {
		patiently(ctx, t, what+" "+l.jobs[i].name, func(ctx context.Context) error { return do(ctx, &l.jobs[i]) })
	}
}

// patiently does something with the API until it answers.
func patiently(ctx context.Context, t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	for {
		trying, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := do(trying)
		cancel()
		var refused *client.APIError
		switch {
		case err == nil:
			return
		case errors.As(err, &refused) && refused.Status < 500:
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// settle returns once every run and every wave has ended.
func settle(ctx context.Context, t *testing.T, api *client.Client) {
	t.Helper()
	changed := make(chan struct{}, 1)
	watched, stop := context.WithCancel(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		_ = api.Watch(watched, func(wire.Event) error { // a hint only
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	defer func() { stop(); <-watching }()
	hint := time.NewTicker(time.Second) // for hints that get lost: they may
	defer hint.Stop()
	var open []string
	defer func() {
		if t.Failed() {
			t.Logf("%d had not ended: %s", len(open), strings.Join(open, "\n"))
		}
	}()
	for {
		patiently(ctx, t, "list what is open", func(ctx context.Context) error {
			runs, err := api.Runs(ctx, client.RunFilter{Statuses: []string{"scheduled", "queued", "running", "retrying"}, Page: client.Page{Limit: 200}})
			if err == nil {
				open = open[:0]
			}
			for i := range runs.Items {
				r := &runs.Items[i]
				open = append(open, fmt.Sprintf("%s of %s%s: %s at attempt %d (%s)", r.ID, r.Job, r.DAG, r.Status, r.Attempt, r.Reason))
			}
			if err != nil {
				return err
			}
			waves, err := api.Waves(ctx, client.WaveFilter{Page: client.Page{Limit: 200}})
			for i := range waves.Items {
				if wave := &waves.Items[i]; !wave.Status.Terminal() {
					open = append(open, fmt.Sprintf("wave %s: %s (%s)", wave.ID, wave.Status, wave.Reason))
				}
			}
			return err
		})
		if len(open) == 0 {
			return
		}
		select {
		case <-changed:
		case <-hint.C:
		case <-ctx.Done():
			t.Fatal("not everything ends")
		}
	}
}

// eachPage reads a list to its end.
func eachPage(t *testing.T, read func(client.Page) (next string, err error)) {
	t.Helper()
	page := client.Page{Limit: 200}
	for {
		next, err := read(page)
		if err != nil {
			t.Fatal(err)
		}
		if next == "" {
			return
		}
		page.Cursor = next
	}
}
