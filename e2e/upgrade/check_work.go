package upgrade

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// binaries compares versions and aliases, and the bytes with their digests.
func (c *check) binaries() {
	c.t.Helper()
	for name := range c.things("binaries", "binaries", "name", nil) {
		binary, err := c.api.Binary(c.t.Context(), name)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, version := range binary.Versions {
			content, err := c.api.DownloadBinary(c.t.Context(), name, version.N)
			if err != nil {
				c.t.Errorf("version %d of %s cannot be downloaded: %v", version.N, name, err)
				continue
			}
			digest := sha256.New()
			if _, err = io.Copy(digest, content); err != nil || hex.EncodeToString(digest.Sum(nil)) != version.SHA256 {
				c.t.Errorf("version %d of %s has other bytes, %v", version.N, name, err)
			}
			_ = content.Close()
		}
	}
}

// history compares what had ended.
func (c *check) history() {
	c.t.Helper()
	terminal := func(old map[string]any) bool {
		text, _ := old["status"].(string)
		var status engine.Status
		return status.UnmarshalText([]byte(text)) == nil && status.Terminal()
	}
	c.things("runs", "runs", "id", terminal)
	c.things("dead-letters", "dead-letters", "id", nil)
	if c.fixture.has("dags") {
		c.things("waves", "waves", "id", terminal)
	}
	if c.fixture.has("incidents") {
		c.things("notify/incidents", "incidents", "id", nil)
	}
	for _, old := range c.fixture.answered(c.t, "runs") {
		id, _ := old["id"].(string)
		if run := c.runs[id]; run.Job == "byhand" && run.Status != engine.StatusSucceeded {
			c.t.Errorf("%s of byhand is %s", id, run.Status)
		} else if run.Job == "byhand" {
			if text := c.log(id); !strings.Contains(text, "report of byhand") {
				c.t.Errorf("the output of %s is %q", id, text)
			}
		}
	}
}

func (c *check) log(id string) string {
	c.t.Helper()
	log, err := c.api.Logs(c.t.Context(), id, client.LogOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// unended looks at what was under way or waited: the program of slow succeeds in its second attempt only, and what waited begins once.
func (c *check) unended() {
	c.t.Helper()
	open := map[string]int{}
	for _, old := range c.fixture.answered(c.t, "runs") {
		id, _ := old["id"].(string)
		run := c.runs[id]
		status, _ := old["status"].(string)
		if status != "running" && status != "queued" {
			continue
		}
		open[status]++
		wanted := 1
		if status == "running" {
			wanted = 2
		}
		attempts, began := c.attempts(id), 0 // a copy that was handed out before the end comes again, and is replaced
		for _, attempt := range attempts {
			if !attempt.ClaimedAt.IsZero() {
				began++
			}
		}
		if run.Status != engine.StatusSucceeded || began != wanted {
			c.t.Errorf("%s of %s%s was %s, and is %s after %d attempts that an executor claimed; wanted %d: %+v", id, run.Job, run.DAG, status, run.Status, began, wanted, attempts)
		}
	}
	if open["running"] != 1 || open["queued"] == 0 {
		c.t.Errorf("of the fixture's runs these had not ended: %v", open)
	}
}

func (c *check) attempts(id string) []wire.Attempt {
	c.t.Helper()
	run, err := c.api.Run(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return run.Attempts
}

// every is the period of the jobs that were due while no server ran.
const every = 10 * time.Minute

// outage holds that each slot of tenminutes, since it was made until now, stands in the ledger once: of those of the outage the last one
// as fired, and all later ones.
func (c *check) outage() {
	c.t.Helper()
	job, err := c.api.Job(c.t.Context(), "tenminutes")
	if err != nil {
		c.t.Fatal(err)
	}
	outcomes := c.slots("tenminutes", job.CreatedAt)
	latest := c.began.Truncate(every)
	missed := latest.Add(-every).After(c.fixture.At) // more than one slot since the end: all but the last are missed
	for at := job.CreatedAt.Truncate(every).Add(every); !at.After(time.Now().Add(-time.Minute)); at = at.Add(every) {
		wanted := "fired"
		switch {
		case at.Equal(latest) && c.up.Truncate(every).After(latest): // the next one came while the server started
			continue
		case missed && at.After(c.fixture.At) && at.Before(latest):
			wanted = "missed"
		}
		if outcomes[at.Unix()] != wanted {
			c.t.Errorf("the slot %s of tenminutes is %q; wanted %s", at, outcomes[at.Unix()], wanted)
		}
	}
}

// slots returns the outcome of each slot of a job that has one, once.
func (c *check) slots(name string, since time.Time) map[int64]string {
	c.t.Helper()
	outcomes := map[int64]string{}
	for cursor := ""; ; {
		list, err := c.api.Slots(c.t.Context(), name, since, client.Page{Cursor: cursor, Limit: 200})
		if err != nil {
			c.t.Fatal(err)
		}
		for _, entry := range list.Items {
			count := int64(0)
			for at := entry.From; !at.After(entry.To); at = at.Add(every) {
				count++
				if before := outcomes[at.Unix()]; before != "" {
					c.t.Errorf("the slot %s of %s is %s and %s", at, name, before, entry.Outcome)
				}
				outcomes[at.Unix()] = entry.Outcome
			}
			if count != entry.Count {
				c.t.Errorf("the ledger counts %d slots of %s from %s to %s; there are %d", entry.Count, name, entry.From, entry.To, count)
			}
		}
		if cursor = list.Next; cursor == "" {
			return outcomes
		}
	}
}

// oneOffs looks at the two jobs that were to run once: one is far ahead, the other was due while no server ran.
func (c *check) oneOffs() {
	c.t.Helper()
	var far, soon wire.OneOff
	c.fixture.read(c.t, "answers/far.json", &far)
	c.fixture.read(c.t, "answers/soon.json", &soon)
	next, err := c.api.NextSlots(c.t.Context(), far.Name, time.Time{}, 2)
	if err != nil || len(next.Items) != 1 || !next.Items[0].Slot.Equal(time.Date(2099, 12, 31, 23, 0, 0, 0, time.UTC)) {
		c.t.Errorf("%s is due at %+v, %v", far.Name, next.Items, err)
	}
	list, err := c.api.Slots(c.t.Context(), soon.Name, time.Time{}, client.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Count != 1 {
		c.t.Fatalf("%s, which was due once while no server ran, has the slots %+v, %v", soon.Name, list.Items, err)
	}
	slot := list.Items[0]
	ran := slices.Collect(func(yield func(wire.Run) bool) {
		for _, run := range c.runs {
			if run.Job == soon.Name && !yield(run) {
				return
			}
		}
	})
	if fired := slot.Outcome == "fired"; fired != (len(ran) == 1) || !fired && slot.Outcome != "missed" {
		c.t.Errorf("the slot of %s is %s, and it has %d runs", soon.Name, slot.Outcome, len(ran))
	}
}

// access looks at who may come in: the token of the data folder could read all this; so may the others.
func (c *check) access() {
	c.t.Helper()
	if !c.fixture.has("users") {
		return
	}
	user, err := c.api.User(c.t.Context(), "anna")
	if err != nil || len(user.Grants) != 1 {
		c.t.Errorf("the user anna is %+v, %v", user, err)
	}
	var made wire.MadeToken
	c.fixture.read(c.t, "answers/token.json", &made)
	reader, err := client.New(client.Config{URL: c.server.URL(), Token: made.Token})
	if err != nil {
		c.t.Fatal(err)
	}
	defer reader.Close()
	if _, err := reader.Jobs(c.t.Context(), client.DefinitionFilter{}); err != nil {
		c.t.Errorf("the token that a user had made: %v", err)
	}
	if _, err := reader.PauseJob(c.t.Context(), "far", ""); err == nil {
		c.t.Error("the token of a viewer pauses jobs")
	}
}

// newWork runs what is new: triggered manually, with a secret, a dead letter again, and what was paused.
func (c *check) newWork() {
	c.t.Helper()
	ctx := c.t.Context()
	jobs := []string{"byhand"}
	if c.fixture.has("secrets") {
		jobs = append(jobs, "salted")
	}
	for _, name := range jobs {
		if _, err := c.api.RunJob(ctx, name, wire.RunRequest{}, ""); err != nil {
			c.t.Fatalf("run %s: %v", name, err)
		}
	}
	if c.fixture.has("dags") {
		if _, err := c.api.RunDAG(ctx, "etl", wire.WaveRequest{}, ""); err != nil {
			c.t.Fatalf("run etl: %v", err)
		}
	}
	before := c.runs
	resumed := time.Now()
	if _, err := c.api.ResumeJob(ctx, "resting"); err != nil {
		c.t.Fatal(err)
	}
	tasks := 0 // of a wave of etl
	if c.fixture.has("dags") {
		tasks = 3
	}
	var made map[string]int
	c.settle(func() bool {
		made = map[string]int{}
		for id, run := range c.runs {
			if _, old := before[id]; !old {
				made[run.Job+run.DAG]++
			}
		}
		return made["etl"] >= tasks && !slices.ContainsFunc(jobs, func(name string) bool { return made[name] == 0 })
	})
	for id, run := range c.runs {
		if _, old := before[id]; !old && run.Status != engine.StatusSucceeded {
			c.t.Errorf("%s of %s%s is %s: %s", id, run.Job, run.DAG, run.Status, run.Error)
		}
	}
	for _, name := range jobs {
		if made[name] != 1 {
			c.t.Errorf("%s ran %d times when triggered manually", name, made[name])
		}
	}
	if made["etl"] != tasks {
		c.t.Errorf("a wave of etl has 3 tasks, and %d ran", made["etl"])
	}
	job, err := c.api.Job(ctx, "resting")
	if err != nil {
		c.t.Fatal(err)
	}
	outcomes := c.slots("resting", job.CreatedAt)
	for at := job.CreatedAt.Truncate(every).Add(every); at.Before(resumed); at = at.Add(every) {
		if got := outcomes[at.Unix()]; got == "" {
			c.t.Errorf("the slot %s of resting, which was paused, is not in the ledger", at)
		}
	}
}

// accounted asks the ledger's own check and the doctor.
func (c *check) accounted() {
	c.t.Helper()
	state, err := c.api.CheckLedger(c.t.Context())
	if err != nil || state.Differences != 0 || state.Missing != 0 {
		c.t.Errorf("the check of the ledger: %+v, %v", state, err)
	}
	if text, status := c.server.Command(c.t.Context(), "doctor"); status != 0 {
		c.t.Errorf("the doctor ends with %d:\n%s", status, text)
	}
}
