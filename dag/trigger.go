package dag

import "slices"

// Trigger is the rule by which a task with needs starts. The empty one is
// AllSuccess.
//
// Failed, Cancelled and UpstreamFailed count as a failure, Skipped as a skip.
// The rules and their words are those of Airflow:
//
//	rule           starts                              is skipped                         is upstream_failed
//	all_success    all ended, each a success           all ended, a skip, no failure      at the first failure
//	none_failed    all ended, no failure               never                              at the first failure
//	one_success    at the first success                all ended, each a skip             all ended, no success, a failure
//	one_failed     at the first failure                all ended, no failure              never
//	all_done       all ended                           never                              never
//	always         all ended, even in a cancelled wave never                              never
//
// It differs from Airflow in two things. There, all_success is skipped at the
// first skip, so whether a later failure shows depends on which need ends first;
// here it waits to see, so that a wave can be derived from how its tasks ended.
// And there, always does not wait for its needs at all; here, as the order drawn
// by needs says, it waits, and differs from all_done in that cancelling the wave
// does not stop it: it is for cleaning up.
//
// A root has nothing to judge: it starts when its slot comes.
type Trigger string

// The trigger rules.
const (
	AllSuccess Trigger = "all_success"
	AllDone    Trigger = "all_done"
	OneSuccess Trigger = "one_success"
	OneFailed  Trigger = "one_failed"
	NoneFailed Trigger = "none_failed"
	Always     Trigger = "always"
)

var triggers = []Trigger{AllSuccess, AllDone, OneSuccess, OneFailed, NoneFailed, Always}

// Triggers are all rules, the default first. The caller owns the slice.
func Triggers() []Trigger { return slices.Clone(triggers) }

// Valid reports whether t is one of the rules; the empty one is not.
func (t Trigger) Valid() bool { return slices.Contains(triggers, t) }

// tally counts how the needs of one task ended.
type tally struct {
	needs, succeeded, failed, skipped int32
}

func (t *tally) add(o outcome, by int32) {
	switch o {
	case success:
		t.succeeded += by
	case failure:
		t.failed += by
	case skip:
		t.skipped += by
	case open:
	}
}

// decide is what happens to a waiting task with needs: Ready, Skipped,
// UpstreamFailed, or Waiting while that is not certain. What it decides stays
// true whatever the open needs do.
func (t Trigger) decide(n tally) State {
	ended := n.succeeded+n.failed+n.skipped == n.needs
	switch t {
	case OneSuccess:
		switch {
		case n.succeeded > 0:
			return Ready
		case ended && n.failed > 0:
			return UpstreamFailed
		case ended:
			return Skipped
		}
	case OneFailed:
		switch {
		case n.failed > 0:
			return Ready
		case ended:
			return Skipped
		}
	case AllDone, Always:
		if ended {
			return Ready
		}
	case NoneFailed:
		switch {
		case n.failed > 0:
			return UpstreamFailed
		case ended:
			return Ready
		}
	default: // AllSuccess
		switch {
		case n.failed > 0:
			return UpstreamFailed
		case ended && n.skipped > 0:
			return Skipped
		case ended:
			return Ready
		}
	}
	return Waiting
}
