package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
)

// missedJobs are due every second. An outage that is longer than the grace costs all but the last of them slots.
const missedJobs = `
kind: Job
name: none
binary: witness
schedule: "* * * * * *"
overlap: allow
catch_up: {policy: none}
env: {WORK: 0, JOURNAL: "%[1]s", LIFE: "%[2]s"}
---
kind: Job
name: soon
binary: witness
schedule: "* * * * * *"
overlap: allow
catch_up: {policy: all, window: 1s}
env: {WORK: 0, JOURNAL: "%[1]s", LIFE: "%[2]s"}
---
kind: Job
name: whole
binary: witness
schedule: "* * * * * *"
overlap: allow
catch_up: {policy: all, window: 10m}
env: {WORK: 0, JOURNAL: "%[1]s", LIFE: "%[2]s"}
`

const (
	// grace is how late a slot may be and still fire as if it were on time; as engine.DefaultConfig has it.
	grace = 10 * time.Second
	// longOutage leaves some slots behind the grace.
	longOutage = grace + 4*time.Second
)

// Missed kills a server, keeps it away for longer than slots may be late, and asks the ledger for exactly the slots that
// have been missed by that: those that were older than the grace when the server came back, and were due no longer.
func Missed(t *testing.T, binary string, args ...string) {
	ctx := t.Context()
	journal := newJournal(t)
	server, api := witnessed(t, binary, append(args, "--lock-ttl", "2s")...)
	applied, err := api.Apply(ctx, []client.File{{Name: "missed.yaml", Data: fmt.Appendf(nil, missedJobs, journal.path, journal.life)}}, client.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	journal.read(t, linesBetween)
	killed := time.Now()
	server.Kill()
	journal.awaitDeath(t, deathLimit)
	<-time.After(longOutage)
	started := time.Now()
	server.Start()
	ready := time.Now()
	journal.read(t, linesBetween)
	for _, job := range applied.Items {
		if _, err := api.PauseJob(ctx, job.Name, ""); err != nil {
			t.Fatal(err)
		}
	}
	runs := settled(ctx, t, api)
	server.Stop()
	journal.awaitDeath(t, deathLimit)
	journal.readRest()
	server.Start()
	everySlot(ctx, t, api)
	check := verdict{t: t, entries: journal.entries, runs: runs}
	check.starts()
	for _, job := range applied.Items {
		var missed []time.Time
		outcomes := check.ledger(ctx, api, job.Name)
		for at, outcome := range outcomes {
			slot := time.Unix(at, 0).UTC()
			switch {
			case strings.HasPrefix(outcome, "missed"):
				missed = append(missed, slot)
				if slot.Before(killed.Add(-time.Second)) || slot.After(ready.Add(-grace)) || outcome != "missed outage" {
					t.Errorf("job %s: the slot %s is %s, and the server was away from %s to %s", job.Name, slot, outcome, killed, started)
				}
			case job.Name != "whole" && slot.After(killed.Add(time.Second)) && slot.Before(started.Add(-grace)):
				t.Errorf("job %s: the slot %s was due in the outage, is older than the grace, and is %s", job.Name, slot, outcome)
			case !strings.HasPrefix(outcome, "fired"):
				if slot.Before(ready) {
					t.Errorf("job %s: the slot %s is %s", job.Name, slot, outcome)
				}
			}
		}
		slices.SortFunc(missed, time.Time.Compare)
		least := int((longOutage-grace)/time.Second) - 1
		switch {
		case job.Name == "whole" && len(missed) > 0:
			t.Errorf("job whole catches all up, and missed %v", missed)
		case job.Name != "whole" && len(missed) < least:
			t.Errorf("job %s missed %d slots, at least %d were to be missed: %v", job.Name, len(missed), least, missed)
		case len(missed) > 0 && missed[len(missed)-1].Sub(missed[0]) != time.Duration(len(missed)-1)*time.Second:
			t.Errorf("job %s: what was missed has gaps: %v", job.Name, missed)
		}
		for _, e := range journal.entries {
			if slices.ContainsFunc(missed, e.slot.Equal) && runs[e.run].Job == job.Name {
				t.Errorf("job %s: the slot %s is said to be missed, and attempt %d of %s has run", job.Name, e.slot, e.attempt, e.run)
			}
		}
	}
}
