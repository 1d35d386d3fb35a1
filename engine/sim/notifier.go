package sim

import (
	"math/rand/v2"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// notifier receives the incidents of engines, and records them as the witness. It draws from a source of its own, so that
// worlds without it are what they were before there was one.
type notifier struct {
	w        *world
	on       bool // users ask to be notified in this world
	random   *rand.Rand
	rules    *spec.Alerts // of the namespace
	notified map[string]bool
	docs     map[string]engine.Incident // as the store has them; only looked up but for leftovers

	durable map[string]bool            // what may be notified: keys that were committed, with what of them
	written map[string][]writtenAlerts // by uid
	acted   map[string]int64           // by uid: the latest revision that an engine has acted upon
	began   map[string]int             // by alert, subject and run: the attempt with which an incident began
}

// writtenAlerts is what one revision of a definition asks for.
type writtenAlerts struct {
	revision        int64
	deleted, paused bool
	own             *spec.Alerts
	tasks           map[string]*spec.Alerts // of a DAG
}

// givenRules is what an engine was given of the namespace's rules.
type givenRules struct {
	at    time.Duration
	rules *spec.Alerts
}

func newNotifier(w *world) *notifier {
	return &notifier{
		w: w, on: w.seed%2 == 1, random: rand.New(rand.NewPCG(w.seed, 0x6e6f746966696572)), notified: map[string]bool{}, docs: map[string]engine.Incident{},
		durable: map[string]bool{}, written: map[string][]writtenAlerts{}, acted: map[string]int64{}, began: map[string]int{},
	}
}

func (n *notifier) odds(probability float64) bool { return n.random.Float64() < probability }

func (n *notifier) between(least, most time.Duration) time.Duration {
	return least + time.Duration(n.random.Int64N(int64(most-least)+1))
}

func drawn[T any](n *notifier, of ...T) T { return of[n.random.IntN(len(of))] }

// chance draws whether a fault happens here.
func (n *notifier) chance(f fault, rate float64) bool {
	if n.w.faults.none || !n.w.faults.active || !n.odds(rate) || n.w.leaves(string(f)) {
		return false
	}
	n.w.counts.add("fault", string(f))
	return true
}

// begin lets the namespace ask for something, and for something else later.
func (n *notifier) begin() {
	if !n.on {
		return
	}
	n.rules = n.drawRules()
	if n.odds(0.4) {
		n.w.after(n.between(5*time.Second, 40*time.Second), func() {
			n.rules = n.drawRules()
			n.w.note("alert rules", "", "", 0)
		})
	}
}

func (n *notifier) drawRules() *spec.Alerts {
	if n.odds(0.2) {
		return nil
	}
	rules := n.draw()
	rules.SilentFor, rules.To = 0, drawn(n, nil, []string{"ops"}, []string{"ops"}, []string{"ops", "on-call"})
	return rules
}

// drawAlerts draws what a definition asks for; nil for nothing of its own.
func (n *notifier) drawAlerts() *spec.Alerts {
	if !n.on || n.odds(0.3) {
		return nil
	}
	return n.draw()
}

func (n *notifier) draw() *spec.Alerts {
	a := &spec.Alerts{To: drawn(n, nil, []string{"team"}, []string{"team"})}
	for _, alert := range []spec.Alert{spec.AlertFailed, spec.AlertDead, spec.AlertMissed, spec.AlertSkipped, spec.AlertRecovered} {
		if n.odds(0.5) {
			a.On = append(a.On, alert)
		}
	}
	if n.odds(0.05) {
		a.On = []spec.Alert{spec.AlertNone}
	}
	a.Lag = spec.Duration(drawn(n, 0, 50*time.Millisecond, time.Second, 5*time.Second))
	a.Duration = spec.Duration(drawn(n, 0, 20*time.Millisecond, time.Second, 5*time.Second))
	a.SilentFor = spec.Duration(drawn(n, 0, 0, 3*time.Second, 20*time.Second))
	return a
}

// drawDAG draws what a DAG and its tasks ask for.
func (n *notifier) drawDAG(d *spec.DAG) {
	if !n.on {
		return
	}
	d.Alerts = n.drawAlerts()
	for i := range d.Tasks {
		d.Tasks[i].Alerts = nil
		if n.odds(0.3) {
			d.Tasks[i].Alerts = n.draw()
		}
	}
}

// rulesFor gives an engine what the namespace asks for.
func (n *notifier) rulesFor(e *driver) core.AlertRules {
	e.rules = append(e.rules, givenRules{n.w.elapsed, n.rules})
	if n.rules == nil {
		return core.AlertRules{}
	}
	return core.AlertRules{Namespaces: map[string]spec.Alerts{namespace: *n.rules}}
}

// of names the notification.
func describe(i *engine.Incident) string {
	if i.Over.IsZero() {
		return "beginning of " + i.Key()
	}
	return "end of " + i.Key()
}

// take takes an incident from an engine, and answers.
func (n *notifier) take(e *driver, seat shard.Seat, i engine.Incident) {
	group := e.group
	latency := n.between(100*time.Microsecond, 5*time.Millisecond)
	if n.chance(notifySlow, 0.05) {
		latency = n.between(100*time.Millisecond, 20*time.Second)
	}
	n.w.after(latency, func() { // which the engine's end does not stop
		answer := core.IncidentNotified{ID: i.ID, Since: i.Since, Over: !i.Over.IsZero(), Failed: n.chance(notifyRefused, 0.1)}
		if !answer.Failed {
			n.takes(&i)
			answer.Failed = n.chance(notifyUnsure, 0.1)
		}
		n.w.after(n.between(50*time.Microsecond, 2*time.Millisecond), func() {
			if e.group == group {
				e.input(shard.Answered{Seat: seat, Event: answer})
			}
		})
	})
}

func (n *notifier) takes(i *engine.Incident) {
	what, which := describe(i), "beginning"
	if !i.Over.IsZero() {
		which = "end"
	}
	n.w.note("notified", i.Key(), which+": "+i.Reason, i.Count)
	switch {
	case !n.durable[what]:
		n.w.fail("users are notified once an incident is durable", "%s is notified, and no commit says so", what)
	case !i.Over.IsZero() && !n.notified["beginning of "+i.Key()]:
		n.w.fail("the beginning is notified before the end", "%s", i.Key())
	case len(i.To) == 0 || i.Count == 0 || i.Reason == "" || !i.Over.IsZero() && i.Ended == "":
		n.w.fail("an incident says what is wrong, and to whom", "%+v", *i)
	}
	if n.notified[what] {
		which += " once more"
	}
	n.w.counts.add("notified", which)
	n.notified[what] = true
}
