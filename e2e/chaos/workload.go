package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// job is a job of the workload, as far as the verdict must know it.
type job struct {
	name    string
	period  time.Duration // from slot to slot
	overlap string
	catchUp string // the policy
	once    bool   // at_most_once
	text    string // its definition
	uid     string
	created time.Time
}

// dagJob is a DAG of the workload, as far as the verdict must know it.
type dagJob struct {
	name    string
	roots   map[string]time.Duration // from slot to slot
	created time.Time
}

// dagTasks is the shape of all DAGs: a task's name and what it needs.
var dagTasks = []struct {
	name  string
	needs []string
	list  bool
}{
	{"fast", nil, false}, {"slow", nil, false}, {"left", []string{"fast"}, false}, {"right", []string{"fast", "slow"}, false},
	{"each", []string{"left", "right"}, true}, {"last", []string{"each"}, false},
}

// workload is what the cluster is given to do.
type workload struct {
	jobs  []job
	dags  []dagJob
	asked []string // manual runs that were acknowledged
	deeds
}

// define makes jobs and DAGs of every policy that matters when something dies, from a seed.
func define(config Config, journal string, random *rand.Rand) (*workload, string) {
	w := &workload{}
	var text strings.Builder
	for i := range config.Jobs {
		j := job{name: fmt.Sprintf("job%03d", i), period: time.Duration(config.Period) * time.Second}
		j.overlap = []string{"skip", "queue", "allow", "skip", "replace", "allow"}[i%6]
		j.once = i%7 == 3
		j.catchUp = []string{"all", "last", "none"}[i%3]
		work := []int{0, 50, 400, 1200}[random.IntN(4)]
		if random.IntN(12) == 0 {
			work = int(lockTTL.Milliseconds()) * 2 // its lock is refreshed
		}
		fail := ""
		if i%5 == 1 {
			fail = "first"
		}
		delivery := "at_least_once"
		if j.once {
			delivery, fail = "at_most_once", ""
		}
		second := random.IntN(config.Period)
		j.text = fmt.Sprintf("---\nkind: Job\nname: %s\nbinary: witness\nschedule: \"%s * * * * *\"\noverlap: %s\ndelivery: %s\ncatch_up: {policy: %s, window: 1h}\nretry: {max_attempts: 3, delay: 200ms}\nenv: {WORK: \"%d\", FAIL: %q, JOURNAL: %q}\n",
			j.name, seconds(second, config.Period), j.overlap, delivery, j.catchUp, work, fail, journal)
		w.jobs = append(w.jobs, j)
		text.WriteString(j.text)
	}
	fmt.Fprintf(&text, "---\nkind: Job\nname: byhand\nbinary: witness\noverlap: allow\nretry: {max_attempts: 3, delay: 200ms}\nenv: {WORK: \"50\", JOURNAL: %q}\n", journal)
	text.WriteString(w.defineUsers(config, journal))
	for i := range config.DAGs {
		d := dagJob{name: fmt.Sprintf("dag%d", i), roots: map[string]time.Duration{"fast": time.Duration(config.Period) * time.Second, "slow": 15 * time.Second}}
		w.dags = append(w.dags, d)
		text.WriteString(dagText(d.name, journal, fmt.Sprintf("%s * * * * *", seconds(i%config.Period, config.Period)), "*/15 * * * * *"))
	}
	return w, text.String()
}

// dagText writes a DAG whose roots have these schedules, or none.
func dagText(name, journal, fast, slow string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "---\nkind: DAG\nname: %s\ncatch_up: {policy: last, window: 1h}\ndefaults: {binary: witness, timeout: 30s, retry: {max_attempts: 3, delay: 200ms}, env: {WORK: \"150\", JOURNAL: %q}}\ntasks:\n", name, journal)
	schedules := map[string]string{"fast": fast, "slow": slow}
	for _, task := range dagTasks {
		var fields []string
		if s := schedules[task.name]; s != "" {
			fields = append(fields, fmt.Sprintf("schedule: %q", s))
		}
		if len(task.needs) > 0 {
			fields = append(fields, "needs: ["+strings.Join(task.needs, ", ")+"]")
		}
		if task.list {
			fields = append(fields, `for_each: "[1, 2, 3]"`)
		}
		fmt.Fprintf(&text, "  %s: {%s}\n", task.name, strings.Join(fields, ", "))
	}
	return text.String()
}

// seconds writes every period-th second from one on, as a schedule has it.
func seconds(from, period int) string { return fmt.Sprintf("%d-59/%d", from, period) }

// load uploads the program and defines the workload, while nothing is broken yet.
func (w *workload) load(ctx context.Context, t *testing.T, api *client.Client, witness, text string) {
	t.Helper()
	program, err := os.Open(witness)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if _, err := api.UploadBinary(ctx, "witness", program, client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Apply(ctx, []client.File{{Name: "chaos.yaml", Data: []byte(text)}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range w.jobs {
		made, err := api.Job(ctx, w.jobs[i].name)
		if err != nil {
			t.Fatal(err)
		}
		w.jobs[i].uid, w.jobs[i].created = made.UID, made.CreatedAt
	}
	for i := range w.dags {
		made, err := api.DAG(ctx, w.dags[i].name)
		if err != nil {
			t.Fatal(err)
		}
		w.dags[i].created = made.CreatedAt
	}
	w.meetUsers(ctx, t, api)
}

// ask asks all who serve the API in turn for manual runs until ctx ends, each until it is acknowledged by one of them.
func (w *workload) ask(ctx context.Context, apis []*client.Client, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n, try := 0, 0; ; try++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		trying, cancel := context.WithTimeout(ctx, 5*time.Second)
		run, err := apis[try%len(apis)].RunJob(trying, "byhand", wire.RunRequest{}, fmt.Sprintf("ask-%d", n))
		cancel()
		if err == nil {
			w.asked = append(w.asked, run.ID)
			n++ // else the same key again: it may have been taken, and is no second run then
		}
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

// end lets no more be due, and returns until when each job and each DAG was.
func (w *workload) end(ctx context.Context, t *testing.T, api *client.Client, journal string) map[string]time.Time {
	t.Helper()
	until := map[string]time.Time{}
	for i := range w.jobs {
		patiently(ctx, t, "pause "+w.jobs[i].name, func(ctx context.Context) error {
			job, err := api.PauseJob(ctx, w.jobs[i].name, "")
			if err == nil {
				until[w.jobs[i].name] = job.PausedAt
			}
			return err
		})
	}
	w.leave(ctx, t, api)
	for _, d := range w.dags {
		until[d.name] = time.Now()
		// Without schedules the wave that is open ends without the roots that have not had their slot.
		patiently(ctx, t, "edit "+d.name, func(ctx context.Context) error {
			_, err := api.Apply(ctx, []client.File{{Name: "end.yaml", Data: []byte(dagText(d.name, journal, "", ""))}}, client.ApplyOptions{})
			return err
		})
	}
	return until
}

// result is what the API returns at the end.
type result struct {
	runs   map[string]wire.Run
	waves  map[string]wire.WaveDetail
	ledger map[string][]wire.LedgerEntry // by job, and by DAG/root

	troubles []trouble
}

// settle returns once every run and wave has ended.
func settle(ctx context.Context, t *testing.T, api *client.Client) {
	t.Helper()
	await(ctx, t, api, "list what is open", func(ctx context.Context) (open []string, err error) {
		runs, err := api.Runs(ctx, client.RunFilter{Statuses: []string{"scheduled", "queued", "running", "retrying"}, Page: client.Page{Limit: 200}})
		if err != nil {
			return nil, err
		}
		for i := range runs.Items {
			r := &runs.Items[i]
			open = append(open, fmt.Sprintf("%s of %s%s: %s at attempt %d (%s)", r.ID, r.Job, r.DAG, r.Status, r.Attempt, r.Reason))
		}
		err = eachPage(func(page client.Page) (string, error) {
			list, err := api.Waves(ctx, client.WaveFilter{Page: page})
			for i := range list.Items {
				if wave := &list.Items[i]; !wave.Status.Terminal() {
					open = append(open, fmt.Sprintf("wave %s: %s", wave.ID, wave.Status))
				}
			}
			return list.Next, err
		})
		return open, err
	})
}

// spread returns once all shards are owned, evenly, by as many engines as there are.
func spread(ctx context.Context, t *testing.T, api *client.Client, engines int) {
	t.Helper()
	await(ctx, t, api, "list the engines", func(ctx context.Context) (wrong []string, err error) {
		all, err := api.Engines(ctx)
		sum, even := 0, len(all) == engines
		for i := range all {
			sum += all[i].Shards
			even = even && all[i].Shards >= engine.Shards/engines
			wrong = append(wrong, fmt.Sprintf("engine %s has %d shards", all[i].ID, all[i].Shards))
		}
		if sum == engine.Shards && even {
			return nil, err
		}
		return append(wrong, fmt.Sprintf("%d engines are to share %d shards", engines, engine.Shards)), err
	})
}

// await returns once nothing stands in the way any more: it asks at each event of the API.
func await(ctx context.Context, t *testing.T, api *client.Client, what string, obstacles func(context.Context) ([]string, error)) {
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
	for {
		var open []string
		patiently(ctx, t, what, func(ctx context.Context) (err error) {
			open, err = obstacles(ctx)
			return err
		})
		if len(open) == 0 {
			return
		}
		select {
		case <-changed:
		case <-hint.C:
		case <-ctx.Done():
			t.Fatalf("%d in the way: %s", len(open), strings.Join(open, "\n"))
		}
	}
}

// eachPage reads a list to its end.
func eachPage(read func(client.Page) (next string, err error)) error {
	page := client.Page{Limit: 200}
	for {
		next, err := read(page)
		if err != nil || next == "" {
			return err
		}
		page.Cursor = next
	}
}

// read asks the API for all there is.
func (w *workload) read(ctx context.Context, t *testing.T, api *client.Client) *result {
	t.Helper()
	r := &result{runs: map[string]wire.Run{}, waves: map[string]wire.WaveDetail{}, ledger: map[string][]wire.LedgerEntry{}}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(eachPage(func(page client.Page) (string, error) {
		list, err := api.Runs(ctx, client.RunFilter{Page: page})
		for _, run := range list.Items {
			r.runs[run.ID] = run
		}
		return list.Next, err
	}))
	var waves []string
	check(eachPage(func(page client.Page) (string, error) {
		list, err := api.Waves(ctx, client.WaveFilter{Page: page})
		for i := range list.Items {
			waves = append(waves, list.Items[i].ID)
		}
		return list.Next, err
	}))
	for _, id := range waves {
		wave, err := api.Wave(ctx, id)
		check(err)
		r.waves[id] = wave
	}
	ledger := func(name string, read func(client.Page) (wire.List[wire.LedgerEntry], error)) {
		check(eachPage(func(page client.Page) (string, error) {
			list, err := read(page)
			r.ledger[name] = append(r.ledger[name], list.Items...)
			return list.Next, err
		}))
	}
	for _, j := range w.jobs {
		ledger(j.name, func(page client.Page) (wire.List[wire.LedgerEntry], error) {
			return api.Slots(ctx, j.name, time.Time{}, page)
		})
	}
	for _, d := range w.dags {
		for root := range d.roots {
			ledger(d.name+"/"+root, func(page client.Page) (wire.List[wire.LedgerEntry], error) {
				return api.DAGSlots(ctx, d.name, root, time.Time{}, page)
			})
		}
	}
	return r
}
