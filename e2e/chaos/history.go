package chaos

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model of a lock with tokens that grow, and that is free again a while after it was last taken or refreshed. What
// was asked without an answer may have been done or not, at any time from then on.

// question and answer are an operation on a lock; unanswered ones have Done "".
type (
	question struct {
		lockEvent
		returned int64
	}
	answer struct {
		revision uint64
		done     string
	}
)

// lockState is a lock as the model has it.
type lockState struct {
	held     bool
	holder   string
	revision uint64 // 0 if no holder has got it
	replaced uint64 // by a refresh whose answer was lost
	until    int64  // it does not expire before
	last     uint64 // the highest revision that a holder has got
}

// lockModel is the lock's sequential model. It does not lose a lock before its time, grants it to one holder at a time,
// and each token is higher than all before.
func lockModel(ttl time.Duration) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[string][]porcupine.Operation{}
			for _, o := range history {
				key := o.Input.(question).Key
				byKey[key] = append(byKey[key], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{lockState{}} },
		Step: func(state, input, output any) []any {
			var next []any
			for _, s := range stepLock(state.(lockState), input.(question), output.(answer), int64(ttl)) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(input, output any) string {
			q, a := input.(question), output.(answer)
			return fmt.Sprintf("%s(%s, %d) → %s %d", q.Do, q.Holder, q.Revision, cmp.Or(a.done, "?"), a.revision)
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return model.ToModel()
}

// stepLock returns the states in which a lock may be after an operation; none if that answer is impossible.
func stepLock(s lockState, q question, a answer, ttl int64) (next []lockState) {
	unsure := a.done == doneError || a.done == ""
	if unsure {
		next = append(next, s) // it was not done
	}
	switch q.Do {
	case doLock:
		if a.done == doneHeld {
			// Nothing was done, and it proves nothing: a server that was killed may show for a moment what it had removed.
			return append(next, s)
		}
		// A lock that is held passes to another holder only after it has expired.
		if (s.held && s.until > q.returned) || (!unsure && a.revision <= s.last) {
			return next
		}
		taken := lockState{held: true, holder: q.Holder, revision: a.revision, until: q.At + ttl, last: max(s.last, a.revision)}
		if unsure {
			taken.revision = 0
		}
		return append(next, taken)
	case doRefresh:
		mine := s.held && s.holder == q.Holder
		if a.done == doneFenced {
			if !mine || s.revision != q.Revision || s.until <= q.returned {
				return append(next, s)
			}
			return next
		}
		// An earlier refresh of the same revision may have been done without an answer.
		if !mine || (s.revision != q.Revision && (s.revision != 0 || s.replaced != q.Revision)) || (!unsure && a.revision <= s.last) {
			return next
		}
		kept := lockState{held: true, holder: q.Holder, revision: a.revision, until: max(s.until, q.At+ttl), last: max(s.last, a.revision)}
		if s.revision == 0 { // this answer is about the earlier one
			kept.until = s.until
		}
		if unsure {
			kept.revision, kept.replaced = 0, q.Revision
		}
		return append(next, kept)
	case doUnlock:
		if s.held && s.holder == q.Holder && s.revision == q.Revision {
			return append(next, lockState{last: s.last})
		}
		return append(next, s) // it was not ours to release
	}
	return nil
}

// readHistory reads what the lockers wrote.
func readHistory(path string) ([]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	questions := map[string]lockEvent{}
	answers := map[string]lockEvent{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e lockEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("the history holds %q: %w", lines.Text(), err)
		}
		if e.Do != "" {
			questions[e.ID] = e
		} else {
			answers[e.ID] = e
		}
	}
	var history []porcupine.Operation
	for id, asked := range questions {
		got, answered := answers[id]
		returned := got.At
		if !answered || got.Done == doneError {
			returned = math.MaxInt64 // whatever it did, it may yet do
		}
		history = append(history, porcupine.Operation{
			Input: question{asked, returned}, Call: asked.At, Output: answer{got.Revision, got.Done}, Return: returned,
		})
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return history, nil
}

// check decides whether a history is linearizable within a limit; as porcupine does.
type check func(model porcupine.Model, history []porcupine.Operation, limit time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo)

// secondTry is how many times longer a history that could not be decided is tried once more.
const secondTry = 5

// linearizable checks that what the lockers were answered can have come from one lock each. A history that cannot be
// decided, even the second time, is a failure: it proves nothing.
func linearizable(t reporter, decide check, history []porcupine.Operation, limit time.Duration, dir string) string {
	t.Helper()
	unanswered := 0
	for _, o := range history {
		if o.Return == math.MaxInt64 {
			unanswered++
		}
	}
	model := lockModel(lockTTL)
	text := fmt.Sprintf("%d operations on %d locks (%d without an answer)", len(history), lockKeys, unanswered)
	result, info := decide(model, history, limit)
	if result == porcupine.Unknown {
		limit *= secondTry
		result, info = decide(model, history, limit)
	}
	switch result {
	case porcupine.Ok:
		return text + ", linearizable"
	case porcupine.Unknown:
		t.Errorf("%s: too many to decide within %s; use fewer lockers or a shorter run", text, limit)
		return text + ", NOT decided"
	default:
		picture := filepath.Join(dir, "locks.html")
		if err := porcupine.VisualizePath(model, info, picture); err != nil {
			t.Errorf("draw the history of locks: %v", err)
		}
		t.Errorf("the history of locks is not linearizable: see %s", picture)
		return text + ", NOT linearizable"
	}
}
