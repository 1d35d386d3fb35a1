package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// crashJobs are due every second, under every policy that matters to a crash. WORK is how long a run takes.
const crashJobs = `
kind: Job
name: free
binary: witness
schedule: "* * * * * *"
overlap: allow
catch_up: {policy: all, window: 10m}
env: {WORK: 0.4, JOURNAL: "%[1]s", LIFE: "%[2]s"}
---
kind: Job
name: slow
binary: witness
schedule: "* * * * * *"
overlap: skip
catch_up: {policy: last, window: 10m}
env: {WORK: 1.3, JOURNAL: "%[1]s", LIFE: "%[2]s"}
---
kind: Job
name: strict
binary: witness
schedule: "* * * * * *"
overlap: queue
catch_up: {policy: none}
env: {WORK: 0.2, JOURNAL: "%[1]s", LIFE: "%[2]s"}
---
kind: Job
name: once
binary: witness
schedule: "* * * * * *"
overlap: allow
delivery: at_most_once
catch_up: {policy: none}
env: {WORK: 0.6, JOURNAL: "%[1]s", LIFE: "%[2]s"}
`

const (
	crashKills = 3
	// linesBetween is how many programs begin between two kills.
	linesBetween = 12
	// outage is how long the server stays away, so that slots pass.
	outage = 1500 * time.Millisecond
	// deathLimit is how long programs may outlive their server.
	deathLimit = 5 * time.Second
	// settleLimit is how long everything may take to end once no more is due.
	settleLimit = 60 * time.Second
)

// Crash kills a server in the middle of running jobs, some times, and asks the programs themselves and the API whether
// any slot was lost, any attempt was started twice, or any process was left.
func Crash(t *testing.T, binary string, args ...string) {
	ctx := t.Context()
	journal := newJournal(t)
	server, api := witnessed(t, binary, append(args, "--lock-ttl", "2s")...)
	applied, err := api.Apply(ctx, []client.File{{Name: "crash.yaml", Data: fmt.Appendf(nil, crashJobs, journal.path, journal.life)}}, client.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	journal.kills(t, server)
	for _, job := range applied.Items {
		if _, err := api.PauseJob(ctx, job.Name, ""); err != nil {
			t.Fatal(err)
		}
	}
	runs := settled(ctx, t, api)
	journal.stop(t, server)
	server.Start() // the ledger is as good after another restart
	check := verdict{t: t, entries: journal.entries, runs: runs}
	check.starts()
	for _, job := range applied.Items {
		check.ledger(ctx, api, job.Name)
	}
	everySlot(ctx, t, api)
	t.Logf("%d lines of the journal, %d runs, %d kills", len(journal.entries), len(runs), crashKills)
}

// witnessed starts a server that has the program which writes the journal.
func witnessed(t *testing.T, binary string, args ...string) (*Server, *client.Client) {
	t.Helper()
	server := NewServer(t, binary, args...)
	server.Start()
	api := server.Client()
	if _, err := api.UploadBinary(t.Context(), "witness", strings.NewReader(program), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	return server, api
}

// kills kills a server some times, each just after a program has begun.
func (j *journal) kills(t *testing.T, server *Server) {
	t.Helper()
	for range crashKills {
		j.read(t, linesBetween) // returns just after a program has begun
		server.Kill()
		j.awaitDeath(t, deathLimit)
		<-time.After(outage)
		server.Start()
	}
	j.read(t, linesBetween)
}

// stop stops a server, reads what its programs have written, and looks for processes that were left.
func (j *journal) stop(t *testing.T, server *Server) {
	t.Helper()
	server.Stop()
	j.awaitDeath(t, deathLimit)
	j.readRest()
	if orphans := j.orphans(t); len(orphans) > 0 {
		t.Errorf("processes were left: %v", orphans)
	}
}

// everySlot has the server compare what the schedules name since they were made with what happened to it.
func everySlot(ctx context.Context, t *testing.T, api *client.Client) {
	t.Helper()
	state, err := api.CheckLedger(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if state.Missing > 0 || state.Slots == 0 {
		t.Errorf("of %d slots %d are neither runs nor in the ledger: %+v", state.Slots, state.Missing, state.Items)
	}
}

// settled returns all runs once each has ended.
func settled(ctx context.Context, t *testing.T, api *client.Client) map[string]wire.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	changed := make(chan struct{}, 1)
	watching := make(chan error, 1)
	go func() {
		watching <- api.Watch(ctx, func(wire.Event) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	defer func() { cancel(); <-watching }()
	hint := time.NewTicker(time.Second) // for hints that get lost: they may
	defer hint.Stop()
	for {
		runs, open := map[string]wire.Run{}, []string{}
		cursor := ""
		for {
			list, err := api.Runs(ctx, client.RunFilter{Page: client.Page{Cursor: cursor, Limit: 200}})
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range list.Items {
				runs[run.ID] = run
				if !run.Status.Terminal() {
					open = append(open, run.ID+" "+run.Status.String())
				}
			}
			if cursor = list.Next; cursor == "" {
				break
			}
		}
		if len(open) == 0 && len(runs) > 0 {
			return runs
		}
		select {
		case <-changed:
		case <-hint.C:
		case <-ctx.Done():
			t.Fatalf("%d runs have not ended after %s: %v", len(open), settleLimit, open)
		}
	}
}

// verdict compares what the programs wrote with what the API says.
type verdict struct {
	t       *testing.T
	entries []entry
	runs    map[string]wire.Run
}

// starts checks each beginning and end of a program.
func (v *verdict) starts() {
	type attempt struct {
		run string
		n   int
	}
	began, ended := map[attempt]entry{}, map[attempt]bool{}
	tokens := map[string]uint64{}
	starts := map[string]int{}
	for _, e := range v.entries {
		key := attempt{e.run, e.attempt}
		run, known := v.runs[e.run]
		switch {
		case !known:
			v.t.Errorf("%s has run, and the API does not know it", e.run)
			continue
		case !run.Slot.Equal(e.slot):
			v.t.Errorf("run %s got slot %s, and has slot %s", e.run, e.slot, run.Slot)
		case e.kind == "end":
			if _, started := began[key]; !started || ended[key] {
				v.t.Errorf("attempt %d of %s ended without having begun, or twice", e.attempt, e.run)
			}
			ended[key] = true
			continue
		}
		if _, twice := began[key]; twice {
			v.t.Errorf("attempt %d of %s was started twice", e.attempt, e.run)
		}
		began[key] = e
		if starts[e.run]++; run.Job == "once" && starts[e.run] > 1 { // one that was handed back before it began is none
			v.t.Errorf("%s is to be delivered at most once, and was started %d times", e.run, starts[e.run])
		}
		lock := run.ID
		if run.Job == "slow" || run.Job == "strict" { // the others' runs may overlap
			lock = run.JobUID
		}
		if e.token <= tokens[lock] {
			v.t.Errorf("attempt %d of %s has the fencing token %d, after %d", e.attempt, e.run, e.token, tokens[lock])
		}
		tokens[lock] = e.token
	}
	for _, id := range slices.Sorted(maps.Keys(v.runs)) {
		run := v.runs[id]
		if run.Status != engine.StatusSucceeded {
			// Only what is delivered at most once may be lost for good.
			if run.Job != "once" || run.Status != engine.StatusLost {
				v.t.Errorf("run %s of %s ended as %s: %s %s", id, run.Job, run.Status, run.Reason, run.Error)
			}
			continue
		}
		if !ended[attempt{id, run.Attempt}] {
			v.t.Errorf("run %s succeeded at attempt %d, and its program never ended", id, run.Attempt)
		}
		for n := 1; n < run.Attempt; n++ {
			if ended[attempt{id, n}] {
				v.t.Logf("attempt %d of %s had ended before its server was killed, unheard", n, id)
			}
		}
	}
}

// ledger checks that each slot of a job, from the first to the last, is accounted for exactly once, and reports how: by
// the seconds of its slots.
func (v *verdict) ledger(ctx context.Context, api *client.Client, job string) map[int64]string {
	outcomes := map[int64][]string{}
	cursor := ""
	for {
		list, err := api.Slots(ctx, job, time.Time{}, client.Page{Cursor: cursor, Limit: 200})
		if err != nil {
			v.t.Fatal(err)
		}
		for _, e := range list.Items {
			slots := int64(0)
			for at := e.From; !at.After(e.To); at = at.Add(time.Second) {
				outcomes[at.Unix()] = append(outcomes[at.Unix()], strings.TrimSpace(e.Outcome+" "+e.Reason+" "+e.Run))
				slots++
			}
			if slots != e.Count {
				v.t.Errorf("job %s: the ledger counts %d slots from %s to %s, there are %d", job, e.Count, e.From, e.To, slots)
			}
			if e.Outcome == "fired" {
				if run, known := v.runs[e.Run]; !known || run.Job != job {
					v.t.Errorf("job %s: the slot %s was fired as %q, which is no run of it", job, e.From, e.Run)
				}
			} else if e.Reason == "" {
				v.t.Errorf("job %s: the slots from %s were %s for no reason", job, e.From, e.Outcome)
			}
		}
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	slots := slices.Sorted(maps.Keys(outcomes))
	if len(slots) == 0 {
		v.t.Errorf("job %s has no slots", job)
		return nil
	}
	fired, once := 0, map[int64]string{}
	for at := slots[0]; at <= slots[len(slots)-1]; at++ {
		switch all := outcomes[at]; {
		case len(all) == 0:
			v.t.Errorf("job %s: the slot %s is lost: no run, and no line of the ledger", job, time.Unix(at, 0).UTC().Format(time.RFC3339))
		case len(all) > 1:
			v.t.Errorf("job %s: the slot %s stands there more than once: %v", job, time.Unix(at, 0).UTC().Format(time.RFC3339), all)
		default:
			once[at] = all[0]
			if strings.HasPrefix(all[0], "fired") {
				fired++
			}
		}
	}
	v.t.Logf("job %s: %d slots, %d fired", job, len(slots), fired)
	return once
}
