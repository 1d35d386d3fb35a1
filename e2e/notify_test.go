package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// noticeJobs are due every second. One fails while a file says so, and the other one loses its slots in an outage that is longer than
// the grace.
const noticeJobs = `
kind: Job
name: breaks
binary: breaker
schedule: "* * * * * *"
retry: {max_attempts: 1}
alerts: {on: [failed, recovered], to: [hook, mail]}
env: {MODE: "%[1]s", JOURNAL: "%[2]s", LIFE: "%[3]s"}
---
kind: Job
name: gap
binary: quick
schedule: "* * * * * *"
catch_up: {policy: none}
alerts: {on: [missed, recovered], to: [hook, mail]}
`

// breaker says in the journal how it ends, just before it ends.
const breaker = `#!/bin/sh
exec 9>"$LIFE"
mode=$(cat "$MODE")
echo "opening the database"
if [ "$mode" = fail ]; then
	echo "connect: connection refused"
	echo "no totals for shop 2"
fi
echo "$mode $TIDEWHEEL_RUN_ID $TIDEWHEEL_ATTEMPT $TIDEWHEEL_SLOT $TIDEWHEEL_FENCING_TOKEN" >"$JOURNAL"
[ "$mode" = ok ] || exit 3
`

const (
	publicURL = "https://tide.example.com"
	// drainLimit is how long messages may take that a killed server had claimed, and that were refused twice.
	drainLimit = 3 * time.Minute
	// unrecorded is for how long after an answer a killed server may not have recorded it.
	unrecorded = 2 * time.Second
)

// noticed is a server whose jobs break and recover while it is killed.
type noticed struct {
	*testing.T
	server  *Server
	api     *client.Client
	journal *journal
	mode    string
	random  *rand.Rand
	kills   []time.Time
}

func (n *noticed) kill() {
	n.Helper()
	n.kills = append(n.kills, time.Now())
	n.server.Kill()
	n.journal.awaitDeath(n.T, deathLimit)
}

// turn has the job end as mode says from now on.
func (n *noticed) turn(mode string) {
	n.Helper()
	next := n.mode + ".next"
	if err := os.WriteFile(next, []byte(mode), 0o644); err != nil {
		n.Fatal(err)
	}
	if err := os.Rename(next, n.mode); err != nil {
		n.Fatal(err)
	}
}

// ends returns just before a program ends as mode says.
func (n *noticed) ends(mode string) {
	n.Helper()
	limit := time.After(settleLimit)
	for {
		select {
		case e := <-n.journal.lines:
			if e.kind == mode {
				return
			}
		case <-limit:
			n.Fatalf("no program has ended as %q for %s", mode, settleLimit)
		}
	}
}

// until returns once something is so.
func (n *noticed) until(what string, limit time.Duration, is func(ctx context.Context) (bool, error)) {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		so, err := is(ctx)
		if err != nil {
			n.Fatalf("%s: %v", what, err)
		}
		if so {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			n.Fatalf("%s: not after %s", what, limit)
		}
	}
}

// untilRun returns once a run of the job that was queued since has ended well, or badly.
func (n *noticed) untilRun(since time.Time, well bool) {
	n.Helper()
	n.until(fmt.Sprintf("a run that ends well: %t", well), settleLimit, func(ctx context.Context) (bool, error) {
		list, err := n.api.Runs(ctx, client.RunFilter{Job: "breaks", Page: client.Page{Limit: 10}})
		return slices.ContainsFunc(list.Items, func(r wire.Run) bool {
			return r.Status.Terminal() && r.FinishedAt.After(since) && (r.Status == engine.StatusSucceeded) == well
		}), err
	})
}

// A failure, a missed slot and their recoveries reach a webhook and an e-mail box once each, though both refuse, hang and break off at
// random, and the server is killed between the commit of an incident and its delivery, or while it delivers.
func TestIncidentsReachWebhookAndMailboxThoughTheServerIsKilled(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	n := &noticed{T: t, journal: newJournal(t), random: rand.New(rand.NewPCG(seed, 0))}
	n.mode = filepath.Join(Folder(t), "mode")
	n.turn("ok")
	var signing atomic.Value
	hook, mail := newNoticeBox(t, "hook", rand.New(rand.NewPCG(seed, 1))), newNoticeBox(t, "mail", rand.New(rand.NewPCG(seed, 2)))
	hookAt := hook.serveHook(t, func() string { return signing.Load().(string) })
	mailAt := mail.serveMail(t)
	n.server = NewServer(t, binary, "--lock-ttl", "2s", "--public-url", publicURL,
		"--smtp-url", "smtp://"+mailAt, "--smtp-from", "Tidewheel <tidewheel@example.com>")
	n.server.Start()
	n.api = n.server.Client()
	made, err := n.api.SetNotifyTarget(t.Context(), "hook", wire.NotifyTargetSettings{Kind: "webhook", URL: "http://" + hookAt + "/in", AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	signing.Store(made.SigningSecret)
	if _, err := n.api.SetNotifyTarget(t.Context(), "mail", wire.NotifyTargetSettings{Kind: "email", Addresses: []string{"ops@example.com"}}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"breaker": breaker, "quick": "#!/bin/sh\n"} {
		if _, err := n.api.UploadBinary(t.Context(), name, strings.NewReader(text), client.UploadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	jobs := fmt.Appendf(nil, noticeJobs, n.mode, n.journal.path, n.journal.life)
	if _, err := n.api.Apply(t.Context(), []client.File{{Name: "jobs.yaml", Data: jobs}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	n.ends("ok")
	n.rounds(hook, mail)
	for _, job := range []string{"breaks", "gap"} {
		if _, err := n.api.PauseJob(t.Context(), job, ""); err != nil {
			t.Fatal(err)
		}
	}
	hook.calm()
	mail.calm()
	runs := settled(t.Context(), t, n.api)
	n.drained()
	truth := append(n.failures(runs), n.misses()...)
	for _, box := range []*noticeBox{hook, mail} {
		n.check(box, truth)
	}
	t.Logf("%d incidents, %d kills; the webhook took %d messages, the mailbox %d", len(truth), len(n.kills), len(hook.all()), len(mail.all()))
}

// rounds break the job and let it recover, some times, and kill the server at another point in each.
func (n *noticed) rounds(hook, mail *noticeBox) {
	n.Helper()
	points := []*noticeBox{nil, hook, mail, hook, nil, nil, mail, nil}
	for round, box := range points {
		since := time.Now()
		if box != nil {
			box.hold()
		}
		n.turn("fail")
		if box == nil { // about when the failure is committed and handed to the notifier
			n.ends("fail")
			<-time.After(time.Duration(n.random.IntN(150)) * time.Millisecond)
			n.kill()
		} else { // while the target has the message, and has not answered
			<-box.held
			n.kill()
			box.free()
		}
		if round == 2 {
			<-time.After(longOutage)
		}
		n.server.Start()
		n.untilRun(since, false)
		since = time.Now()
		n.turn("ok")
		if round%2 == 0 {
			n.ends("ok")
			<-time.After(time.Duration(n.random.IntN(150)) * time.Millisecond)
			n.kill()
			n.server.Start()
		}
		n.untilRun(since, true)
	}
}

// drained returns once nothing is wrong any more, and nothing waits to be delivered.
func (n *noticed) drained() {
	n.Helper()
	n.until("nothing waits to be delivered", drainLimit, func(ctx context.Context) (bool, error) {
		if open, err := n.api.Incidents(ctx, client.Page{Limit: 10}); err != nil || len(open.Items) > 0 {
			return false, err
		}
		for _, state := range []string{"waiting", "held"} {
			if list, err := n.api.Deliveries(ctx, client.DeliveryFilter{State: state, Page: client.Page{Limit: 10}}); err != nil || len(list.Items) > 0 || list.Next != "" {
				return false, err
			}
		}
		return true, nil
	})
	for _, state := range []string{"failed", "silenced"} {
		list, err := n.api.Deliveries(n.Context(), client.DeliveryFilter{State: state, Page: client.Page{Limit: 10}})
		if err != nil || len(list.Items) > 0 {
			n.Errorf("%s: %+v, %v", state, list.Items, err)
		}
	}
}

// truth is one incident, as runs and slots say it.
type truth struct {
	job      string
	alert    spec.Alert
	from, to time.Time       // its first sign lies between
	runs     map[string]bool // of its signs
	endedBy  string          // the run that ended it; "" if any may have
}

// failures are the times between a run that failed and the next one that succeeded.
func (n *noticed) failures(runs map[string]wire.Run) (all []truth) {
	n.Helper()
	var ordered []wire.Run
	for _, r := range runs {
		if r.Job == "breaks" {
			ordered = append(ordered, r)
		}
	}
	slices.SortFunc(ordered, func(a, b wire.Run) int { return a.FinishedAt.Compare(b.FinishedAt) })
	var open *truth
	for i := range ordered {
		r := &ordered[i]
		switch {
		case r.Status == engine.StatusSucceeded && open != nil:
			open.to, open.endedBy = r.FinishedAt, r.ID
			all, open = append(all, *open), nil
		case r.Status == engine.StatusSucceeded:
		case open == nil:
			open = &truth{job: "breaks", alert: spec.AlertFailed, from: r.FinishedAt, runs: map[string]bool{r.ID: true}}
		default:
			open.runs[r.ID] = true
		}
	}
	if open != nil {
		n.Errorf("the last run of the job failed")
	}
	return all
}

// misses are the times from a slot that was missed to the next one that fired.
func (n *noticed) misses() (all []truth) {
	n.Helper()
	var entries []wire.LedgerEntry
	for cursor := ""; ; {
		list, err := n.api.Slots(n.Context(), "gap", time.Time{}, client.Page{Cursor: cursor, Limit: 200})
		if err != nil {
			n.Fatal(err)
		}
		entries = append(entries, list.Items...)
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	slices.SortFunc(entries, func(a, b wire.LedgerEntry) int { return a.From.Compare(b.From) })
	open := false
	for _, e := range entries {
		switch {
		case e.Outcome == "missed" && !open:
			open = true
			all = append(all, truth{job: "gap", alert: spec.AlertMissed, from: e.From})
		case e.Outcome == "fired" && open:
			open = false
			all[len(all)-1].to, all[len(all)-1].endedBy = e.From.Add(time.Minute), e.Run
		}
	}
	if len(all) == 0 || open {
		n.Errorf("the long outage cost no slot, or none has fired since: %+v", entries)
	}
	return all
}

// check compares what a receiver has taken with what has happened.
func (n *noticed) check(box *noticeBox, truths []truth) {
	n.Helper()
	for _, wrong := range box.wrong {
		n.Errorf("%s: %s", box.name, wrong)
	}
	first := map[string]taken{} // by id
	var order []taken
	repeated := 0
	for _, took := range box.all() {
		before, again := first[took.id]
		switch {
		case !again:
			first[took.id] = took
			order = append(order, took)
			continue
		case before.whole != took.whole:
			n.Errorf("%s: %s came again and says something else:\n%s\n%s", box.name, took.id, before.whole, took.whole)
		}
		killed := slices.ContainsFunc(n.kills, func(at time.Time) bool { return at.After(before.at) && at.Before(before.at.Add(unrecorded)) })
		if before.answered && !killed {
			n.Errorf("%s: %s was answered and came again: %s", box.name, took.id, took.title)
		}
		repeated++
		first[took.id] = took
	}
	begun, ended := map[string]taken{}, map[string]taken{} // by incident
	for _, took := range order {
		into := begun
		if took.over {
			into = ended
			if _, has := begun[took.incident]; !has {
				n.Errorf("%s: the end came before the beginning: %s", box.name, took.title)
			}
		}
		if _, twice := into[took.incident]; twice {
			n.Errorf("%s: the incident %s came under two ids: %s", box.name, took.incident, took.title)
		}
		into[took.incident] = took
	}
	if len(begun) != len(truths) || len(ended) != len(truths) {
		n.Errorf("%s: %d incidents began and %d are over, want %d of each", box.name, len(begun), len(ended), len(truths))
	}
	for _, of := range truths {
		n.checkOne(box, of, begun, ended)
	}
	n.Logf("%s: %d messages, %d of them came again", box.name, len(order), repeated)
}

// checkOne looks for the beginning and the end of one incident.
func (n *noticed) checkOne(box *noticeBox, of truth, begun, ended map[string]taken) {
	n.Helper()
	for key, b := range begun {
		e, has := ended[key]
		if !has || !strings.Contains(e.url, of.endedBy) {
			continue
		}
		delete(begun, key)
		title, reason, page := "Job breaks (default) failed", "exit 3", publicURL+"/runs/"
		if of.alert == spec.AlertMissed {
			title, reason, page = "Job gap (default) missed a slot", "was missed", publicURL+"/jobs/gap"
		}
		if b.title != title || !strings.Contains(b.reason, reason) || !strings.HasPrefix(b.url, page) {
			n.Errorf("%s: the beginning says %q, %q, %q", box.name, b.title, b.reason, b.url)
		}
		if b.since.Before(of.from.Truncate(time.Second)) || b.since.After(of.to) || !e.since.Equal(b.since) {
			n.Errorf("%s: %s: since %s and %s, want from %s to %s", box.name, b.title, b.since, e.since, of.from, of.to)
		}
		if of.alert == spec.AlertFailed {
			if !of.runs[strings.TrimPrefix(b.url, page)] {
				n.Errorf("%s: the link leads to %s, which is no run that failed", box.name, b.url)
			}
			if want := []string{"opening the database", "connect: connection refused", "no totals for shop 2"}; !slices.Equal(b.output, want) {
				n.Errorf("%s: the last lines are %q, want %q", box.name, b.output, want)
			}
		}
		if !strings.HasPrefix(e.title, "Over: "+title+", for ") || !strings.Contains(e.reason, "run "+of.endedBy) || e.url != publicURL+"/runs/"+of.endedBy {
			n.Errorf("%s: the end says %q, %q, %q", box.name, e.title, e.reason, e.url)
		}
		return
	}
	n.Errorf("%s: nothing was said of %+v", box.name, of)
}
