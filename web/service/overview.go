package service

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// OverviewStore is what the overview asks of the store.
type OverviewStore interface {
	Tallies(ctx context.Context, namespace string, windows []engine.Window, limit int) ([]engine.Tallies, error)
	RecentSlots(ctx context.Context, namespace string, since time.Time, limit int) ([]engine.SlotRange, error)
}

// Overview is how things stand.
type Overview struct {
	At       time.Time
	Now      engine.Tallies // runs that have not ended; the counts of others are of the last day
	Late     engine.Tally   // runs that wait in a queue for longer than LateAfter
	Dead     engine.Tally   // dead letters, of whatever age
	Concerns []Concern      // what needs attention, the worst first
	// Executors and Queues are nil where Troubled says that the queue does not answer.
	Executors []Executor
	Queues    []engine.QueueDepth
	Troubled  error
}

const (
	// LateAfter is how long a run may wait in a queue, or a slot for its run, before it is late.
	LateAfter = 30 * time.Second
	// overdueAfter is how long the engine may take to take up a slot.
	overdueAfter = 10 * time.Second
	// lookedBack is how far back the overview looks.
	lookedBack = 24 * time.Hour

	attended     = 100            // of each kind, how many are looked at
	lastRuns     = 10             // of a job, to see how the last that ended did
	refusedToday = 24 * time.Hour // that refused tasks need attention
	outlasted    = 3              // slots of a job in a day that its own runs were in the way of
)

// Concern is something that needs attention. What else is set depends on its kind.
type Concern struct {
	Kind     ConcernKind
	Job      string
	Run      string // the newest that it is about
	Status   engine.Status
	Executor string
	Host     string
	Tier     spec.Tier
	RunsOn   string // the labels that are asked for, of ConcernUnserved
	DAG      bool   // Job names a DAG, of ConcernPaused
	By       string // who paused or drained it
	Count    int
	More     bool // there are more than Count
	At       time.Time
	Reason   string
}

// ConcernKind is what is the matter.
type ConcernKind string

// The kinds, the worst first.
const (
	ConcernDisk       ConcernKind = "disk"        // the server's disk is full: Reason says where, and what to do
	ConcernNoExecutor ConcernKind = "no_executor" // no executor is alive
	ConcernNoEngine   ConcernKind = "no_engine"   // no engine is alive
	ConcernOwnerless  ConcernKind = "ownerless"   // no engine has some of the shards
	ConcernClocks     ConcernKind = "clocks"      // the clocks of two nodes differ
	ConcernBehind     ConcernKind = "behind"      // the store is slower than what is asked of it: Reason says by how much
	ConcernLedger     ConcernKind = "ledger"      // slots are neither runs nor in the ledger: Job is the newest's, At when it was
	ConcernStream     ConcernKind = "stream"      // a stream of the queue grows
	ConcernOverdue    ConcernKind = "overdue"     // slots have come, and no engine takes them up
	ConcernUnserved   ConcernKind = "unserved"    // runs wait in a tier that no executor serves, or for labels that none has
	ConcernSilent     ConcernKind = "silent"      // an executor vanished without a word
	ConcernRefused    ConcernKind = "refused"     // an executor refused tasks that no engine signed as they are: Reason says why
	ConcernDead       ConcernKind = "dead"        // runs used up their retries
	ConcernFailing    ConcernKind = "failing"     // a job's last run failed
	ConcernWave       ConcernKind = "wave"        // a DAG's last wave failed: Job is the DAG, Run the wave
	ConcernMissed     ConcernKind = "missed"      // slots that no engine fired
	ConcernLate       ConcernKind = "late"        // runs wait for longer than they should
	ConcernHeldUp     ConcernKind = "held_up"     // a job's runs waited for an executor for longer than the time between its slots
	ConcernOutlasts   ConcernKind = "outlasts"    // a job's runs last longer than the time between its slots
	ConcernDrained    ConcernKind = "drained"     // an operator told an executor to take nothing new: Count runs continue there
	ConcernPaused     ConcernKind = "paused"      // a job or DAG is paused, or Count of them are: then Job is ""
	ConcernOverlap    ConcernKind = "overlap"     // slots came while the run before had not ended, and it is not known any more why
)

var concernOrder = []ConcernKind{
	ConcernDisk, ConcernLedger, ConcernNoEngine, ConcernOwnerless, ConcernNoExecutor, ConcernBehind, ConcernStream, ConcernOverdue, ConcernUnserved, ConcernSilent, ConcernRefused, ConcernClocks, ConcernDead, ConcernFailing, ConcernWave, ConcernMissed, ConcernLate, ConcernHeldUp, ConcernOutlasts, ConcernOverlap, ConcernDrained, ConcernPaused,
}

// Overview reports how things stand. If the queue does not answer, it reports what the store has.
func (s *Service) Overview(ctx context.Context, namespace string) (Overview, error) {
	now := s.now()
	view := Overview{At: now}
	since := now.Add(-lookedBack)
	tallies, err := s.store.Tallies(ctx, namespace, []engine.Window{{}, {From: since}}, TallyLimit)
	if err != nil {
		return Overview{}, fmt.Errorf("count runs: %w", err)
	}
	for _, status := range engine.Statuses() {
		if view.Now[status] = tallies[0][status]; status.Terminal() {
			view.Now[status] = tallies[1][status]
		}
	}
	for _, look := range []func(context.Context, string, *Overview) error{s.lookAtLate, s.lookAtOverdue, s.lookAtFailed, s.lookAtWaves, s.lookAtSlots, s.lookAtPaused} {
		if err := look(ctx, namespace, &view); err != nil {
			return Overview{}, err
		}
	}
	s.lookAtLedger(namespace, &view)
	s.lookAtQueue(ctx, &view)
	s.lookAtDisk(&view)
	slices.SortStableFunc(view.Concerns, func(a, b Concern) int {
		return cmp.Or(cmp.Compare(slices.Index(concernOrder, a.Kind), slices.Index(concernOrder, b.Kind)), b.At.Compare(a.At))
	})
	return view, nil
}

// lookAtLate finds runs that wait in a queue.
func (s *Service) lookAtLate(ctx context.Context, namespace string, view *Overview) error {
	if view.Now[engine.StatusQueued].N == 0 {
		return nil
	}
	before := view.At.Add(-LateAfter)
	queued, next, err := s.store.Runs(ctx, engine.RunFilter{Namespace: namespace, Statuses: []engine.Status{engine.StatusQueued}, Until: before, Limit: attended})
	if err != nil {
		return fmt.Errorf("list queued runs: %w", err)
	}
	late := slices.DeleteFunc(queued, func(r engine.Run) bool { return r.QueuedAt.After(before) })
	view.Late = engine.Tally{N: len(late), More: next != ""}
	if len(late) > 0 {
		oldest := slices.MinFunc(late, func(a, b engine.Run) int { return a.QueuedAt.Compare(b.QueuedAt) })
		view.Concerns = append(view.Concerns, Concern{
			Kind: ConcernLate, Count: len(late), More: view.Late.More, Job: oldest.Job, Run: oldest.ID, Status: oldest.Status, Tier: oldest.Tier, At: oldest.QueuedAt,
		})
	}
	return nil
}

// lookAtOverdue finds slots that have come and that no engine has taken up.
func (s *Service) lookAtOverdue(ctx context.Context, namespace string, view *Overview) error {
	tasks, err := s.store.Upcoming(ctx, namespace, attended)
	if err != nil {
		return fmt.Errorf("list what comes next: %w", err)
	}
	overdue := 0
	for overdue < len(tasks) && tasks[overdue].RunAt.Before(view.At.Add(-overdueAfter)) {
		overdue++
	}
	if overdue > 0 {
		view.Concerns = append(view.Concerns, Concern{Kind: ConcernOverdue, Count: overdue, More: overdue == attended, Job: tasks[0].Job, At: tasks[0].RunAt})
	}
	return nil
}

// lookAtFailed finds the dead, and the jobs whose last run failed. A job whose last run succeeded has recovered: what
// died of its schedule before is among the dead letters, and needs no attention any more. A manual run has a payload of its
// own, which no other run makes up for.
func (s *Service) lookAtFailed(ctx context.Context, namespace string, view *Overview) error {
	since := view.At.Add(-lookedBack)
	letters, further, err := s.store.DeadLetters(ctx, namespace, "", attended)
	if err != nil {
		return fmt.Errorf("list dead letters: %w", err)
	}
	view.Dead = engine.Tally{N: len(letters), More: further != ""}
	dead := map[string]*Concern{}
	recovered, err := s.recovered(ctx, letters, view.At)
	if err != nil {
		return err
	}
	for i := range letters {
		letter := &letters[i]
		if strings.Contains(letter.Job, "/") {
			continue // a task: its wave has failed, and says so
		}
		if _, scheduled := engine.SlotOf(letter.RunID); scheduled && recovered[letter.JobUID] {
			continue
		}
		if c := dead[letter.Job]; c != nil {
			c.Count++
			continue
		}
		dead[letter.Job] = &Concern{Kind: ConcernDead, Job: letter.Job, Run: letter.RunID, Status: engine.StatusDead, Count: 1, At: letter.At, Reason: letter.Error}
	}
	if view.Now.Sum(engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost).N > 0 {
		failed, next, err := s.store.Runs(ctx, engine.RunFilter{
			Namespace: namespace, Statuses: []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost}, Since: since, Limit: attended,
		})
		if err != nil {
			return fmt.Errorf("list failed runs: %w", err)
		}
		failing := map[string]*Concern{}
		uids := map[string]string{} // of the jobs
		for i := range failed {
			run := &failed[i]
			if run.DAG != "" {
				continue // its wave says so
			}
			if c := failing[run.Job]; c != nil {
				c.Count++
				continue
			}
			uids[run.Job] = run.JobUID
			failing[run.Job] = &Concern{Kind: ConcernFailing, Job: run.Job, Run: run.ID, Status: run.Status, Count: 1, More: next != "", At: run.FinishedAt, Reason: run.Reason}
		}
		marks, err := s.store.LatestMarks(ctx, slices.Sorted(maps.Values(uids)), lastRuns, 0)
		if err != nil {
			return fmt.Errorf("read the last runs of jobs that failed: %w", err)
		}
		living, err := s.store.JobsByUID(ctx, slices.Sorted(maps.Values(uids)))
		if err != nil {
			return fmt.Errorf("read the jobs that failed: %w", err)
		}
		maps.DeleteFunc(failing, func(job string, _ *Concern) bool {
			return !slices.ContainsFunc(living, func(j engine.Job) bool { return j.UID == uids[job] && !j.Deleted })
		})
		for _, c := range sortedConcerns(failing) {
			last := healthOf(&engine.Job{}, marks[uids[c.Job]], nil, view.At)
			if last.Failing() {
				view.Concerns = append(view.Concerns, c)
			}
		}
	}
	view.Concerns = append(view.Concerns, sortedConcerns(dead)...)
	return nil
}

// recovered reports which of the jobs of dead letters have ended their last run well.
func (s *Service) recovered(ctx context.Context, letters []engine.DeadLetter, now time.Time) (map[string]bool, error) {
	uids := map[string]bool{}
	for i := range letters {
		uids[letters[i].JobUID] = true
	}
	marks, err := s.store.LatestMarks(ctx, slices.Sorted(maps.Keys(uids)), lastRuns, 0)
	if err != nil {
		return nil, fmt.Errorf("read the last runs of jobs with dead letters: %w", err)
	}
	for uid := range uids {
		last := healthOf(&engine.Job{}, marks[uid], nil, now)
		uids[uid] = last.Ended > 0 && !last.Failing()
	}
	return uids, nil
}

// lookAtLedger adds what the check of the ledger has found.
func (s *Service) lookAtLedger(namespace string, view *Overview) {
	state := s.LedgerState()
	for i := range state.Differences {
		if d := &state.Differences[i]; d.Namespace == namespace {
			view.Concerns = append(view.Concerns, Concern{Kind: ConcernLedger, Job: d.Owner, Count: state.Found, At: d.Slot, Reason: d.Kind.Words()})
			return
		}
	}
}

// ofAFullDisk are concerns that a full disk explains: a node that cannot write may be alive.
var ofAFullDisk = []ConcernKind{ConcernNoExecutor, ConcernNoEngine, ConcernOwnerless, ConcernOverdue, ConcernUnserved, ConcernSilent, ConcernLate}

// lookAtDisk names a full disk, in place of what it leads to.
func (s *Service) lookAtDisk(view *Overview) {
	if s.config.DiskFull == nil {
		return
	}
	if err := s.config.DiskFull(); err != nil {
		view.Concerns = slices.DeleteFunc(view.Concerns, func(c Concern) bool { return slices.Contains(ofAFullDisk, c.Kind) })
		view.Concerns = append(view.Concerns, Concern{Kind: ConcernDisk, At: view.At, Reason: err.Error()})
	}
}

// lookAtQueue adds who works and what waits for them.
func (s *Service) lookAtQueue(ctx context.Context, view *Overview) {
	executors, err := s.Fleet(ctx)
	if err == nil {
		view.Queues, err = s.Depths(ctx)
	}
	if err != nil {
		view.Troubled = err
		return
	}
	view.Executors = executors
	if err := s.lookAtEngines(ctx, view); err != nil {
		view.Troubled = err
		return
	}
	if err := s.lookAtStreams(ctx, view); err != nil {
		view.Troubled = err
		return
	}
	for i := range executors {
		e := &executors[i]
		if e.Silent {
			view.Concerns = append(view.Concerns, Concern{Kind: ConcernSilent, Executor: e.ID, Host: e.Host, At: e.Seen})
		}
		if r := e.Refused; r != nil && view.At.Sub(r.At) < refusedToday {
			view.Concerns = append(view.Concerns, Concern{Kind: ConcernRefused, Executor: e.ID, Host: e.Host, Count: int(r.Count), At: r.At, Reason: r.Why})
		}
	}
	view.Concerns = append(view.Concerns, drained(executors)...)
	alive := present(executors)
	if len(alive) == 0 {
		view.Concerns = append(view.Concerns, Concern{Kind: ConcernNoExecutor, At: view.At})
		return
	}
	for i := range view.Queues {
		depth := &view.Queues[i]
		unserved := func(waiting uint64, runsOn map[string]string, at time.Time) {
			if p := placed(alive, depth.Tier, runsOn); waiting > 0 && p.why != "" {
				view.Concerns = append(view.Concerns, Concern{
					Kind: ConcernUnserved, Tier: depth.Tier, RunsOn: spec.RunsOnText(runsOn), Reason: p.why, Count: int(min(waiting, 1<<31-1)), At: at,
				})
			}
		}
		plain := depth.Waiting
		for _, pool := range depth.Pools {
			unserved(pool.Waiting, pool.RunsOn, pool.Oldest)
			plain -= min(pool.Waiting, plain)
		}
		unserved(plain, nil, depth.Oldest)
	}
}

// sortedConcerns returns the newest first.
func sortedConcerns(of map[string]*Concern) []Concern {
	all := make([]Concern, 0, len(of))
	for _, c := range of {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Concern) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Job, b.Job)) })
	return all
}
