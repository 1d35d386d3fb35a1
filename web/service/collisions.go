package service

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// CollisionsAhead is how far collisions are looked for.
	CollisionsAhead = 7 * 24 * time.Hour

	collisionsKept = time.Minute
	collisionsOf   = 10_000  // definitions that are looked at
	collisionWork  = 500_000 // slots that are stepped through
	collisionsMost = 100     // that are listed, the largest first
	collisionNames = 500     // schedules that are named of one
	unknownTakes   = time.Second
)

// Collisions are the instants at which more runs are planned than the executors have slots for.
type Collisions struct {
	Window engine.Window
	List   []Collision // the largest first
	More   int         // how many are not listed
	// Capacity is how many slots the executors that serve each tier have.
	Capacity map[spec.Tier]int
	Notes    []string // what is not known, in words
}

// Collision is a time in which more runs are planned of a tier than there are slots. One that comes again at the same time of day with as
// many runs is one collision.
type Collision struct {
	Tier     spec.Tier
	At       []time.Time // when it begins, the earliest first
	Runs     int         // that are planned until it is over
	Peak     int         // how many of them at once, if each began at its slot
	Capacity int
	Lag      time.Duration // about how long the last of them waits
	Of       []CollisionOf // whose they are
	MoreOf   int           // schedules that are not named
}

// Over is by how much a collision exceeds the slots.
func (c *Collision) Over() int { return c.Peak - c.Capacity }

// CollisionOf is a schedule that takes part in a collision.
type CollisionOf struct {
	DAG      bool
	Name     string
	Root     string // of a DAG
	Schedule []string
	Runs     int           // in the collision
	Takes    time.Duration // by its last runs; 0: not known
	// Spread is the schedule that would be spread by H, nil where there is none: then Why says so.
	Spread []string
	Why    string
}

// collisions remembers what was found: it is costly, and schedules change seldom.
type collisions struct {
	mu sync.Mutex
	of map[string]*foundCollisions // by namespace
}

// foundCollisions are those of one namespace. Who asks while they are looked for waits, and others do not.
type foundCollisions struct {
	mu    sync.Mutex
	at    time.Time
	found Collisions
}

func (c *collisions) in(namespace string) *foundCollisions {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= tideCaches {
		c.of = map[string]*foundCollisions{}
	}
	if c.of[namespace] == nil {
		c.of[namespace] = &foundCollisions{}
	}
	return c.of[namespace]
}

// Collisions finds at which instants of the next days more runs of a namespace are planned than fit, from the schedules and from how long
// runs took lately. Its cost is bounded; Notes says what was not looked at.
func (s *Service) Collisions(ctx context.Context, namespace string) (Collisions, error) {
	now, known := s.now(), s.collisions.in(namespace)
	known.mu.Lock()
	defer known.mu.Unlock()
	if now.Sub(known.at) < collisionsKept && !now.Before(known.at) {
		return known.found, nil
	}
	found, err := s.findCollisions(ctx, namespace, now)
	if err != nil {
		return Collisions{}, err
	}
	known.at, known.found = now, found
	return found, nil
}

// forgetCollisions is called when schedules have changed by what collisions are looked at for. What is being looked for meanwhile is
// remembered nowhere.
func (s *Service) forgetCollisions(namespace string) {
	s.collisions.mu.Lock()
	defer s.collisions.mu.Unlock()
	delete(s.collisions.of, namespace)
}

// plannedOf is a schedule whose slots are counted.
type plannedOf struct {
	CollisionOf
	tier     spec.Tier
	task     string
	overlaps bool
	schedule *cron.Schedule
}

func (s *Service) findCollisions(ctx context.Context, namespace string, now time.Time) (found Collisions, err error) {
	found.Window = engine.Window{From: now, Until: now.Add(CollisionsAhead)}
	var planned []plannedOf
	more, err := s.eachDefinition(ctx, namespace, collisionsOf,
		func(job *engine.Job) { planned = append(planned, plannedJob(job)...) },
		func(dag *engine.DAG) { planned = append(planned, plannedRoots(dag)...) })
	if err != nil {
		return found, err
	}
	if more {
		found.Notes = append(found.Notes, fmt.Sprintf("Only the first %d jobs and DAGs, by name, were looked at.", collisionsOf))
	}
	tasks := make([]string, len(planned))
	for i := range planned {
		tasks[i] = planned[i].task
	}
	takes, err := s.typical(ctx, tasks)
	if err != nil {
		return found, err
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return found, err
	}
	found.Capacity = map[spec.Tier]int{}
	starts := map[spec.Tier][]start{}
	work := collisionWork
	for i := range planned {
		p := &planned[i]
		p.Takes = takes[p.task]
		starts[p.tier] = append(starts[p.tier], p.starts(i, found.Window, &work)...)
	}
	if work <= 0 {
		found.Notes = append(found.Notes, fmt.Sprintf("There are more than %d slots in these days: those of some jobs were not counted.", collisionWork))
	}
	var all []Collision
	for _, tier := range []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy} {
		found.Capacity[tier] = placed(executors, tier, nil).slots
		switch {
		case len(starts[tier]) == 0:
		case found.Capacity[tier] == 0:
			found.Notes = append(found.Notes, fmt.Sprintf("No executor serves the tier %s now, so all that is planned for it would wait.", tier))
		default:
			all = append(all, collide(tier, found.Capacity[tier], starts[tier], planned)...)
		}
	}
	slices.SortStableFunc(all, func(a, b Collision) int { return cmp.Or(cmp.Compare(b.Over(), a.Over()), a.At[0].Compare(b.At[0])) })
	found.More = max(len(all)-collisionsMost, 0)
	found.List = all[:len(all)-found.More]
	return found, nil
}

func plannedJob(job *engine.Job) []plannedOf {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil || job.Paused || job.Deleted || !fixed(schedule) {
		return nil
	}
	of := CollisionOf{Name: job.Name, Schedule: job.Spec.Schedule}
	of.Spread, of.Why = spread(of.Schedule)
	return []plannedOf{{CollisionOf: of, tier: job.Spec.Tier, task: job.UID, overlaps: job.Spec.Overlap == spec.OverlapAllow, schedule: schedule}}
}

func plannedRoots(dag *engine.DAG) (planned []plannedOf) {
	if dag.Paused || dag.Deleted {
		return nil
	}
	roots := ScheduledRoots(dag)
	for _, root := range roots {
		task := &dag.Spec.Tasks[root]
		schedule, err := cron.Compile(dag.Spec.Definition(root, dag.Key()+"/"+task.Name, dag.CreatedAt))
		if err != nil || !fixed(schedule) {
			continue
		}
		of := CollisionOf{DAG: true, Name: dag.Name, Root: task.Name, Schedule: dag.Spec.Schedule}
		if len(task.Schedule) > 0 {
			of.Schedule = task.Schedule
		}
		if of.Spread, of.Why = spread(of.Schedule); len(roots) > 1 {
			of.Spread, of.Why = nil, "its roots would fire apart from each other"
		}
		planned = append(planned, plannedOf{
			CollisionOf: of, tier: dag.Spec.TaskJob(root).Tier, task: engine.RootID(dag.UID, task.Name), schedule: schedule,
		})
	}
	return planned
}

// start is a run that is planned.
type start struct {
	at, end int64 // milliseconds
	of      int   // whose it is
}

// starts are the planned runs of a schedule. A run is over when the next begins, where they may not overlap.
func (p *plannedOf) starts(of int, window engine.Window, work *int) (all []start) {
	takes := cmp.Or(p.Takes, unknownTakes).Milliseconds()
	for at := window.From; *work > 0; *work-- {
		slot, ok := p.schedule.NextFire(at)
		if !ok || !slot.Before(window.Until) {
			break
		}
		if n := len(all); n > 0 && !p.overlaps {
			all[n-1].end = min(all[n-1].end, slot.UnixMilli())
		}
		all = append(all, start{slot.UnixMilli(), slot.UnixMilli() + max(takes, 1), of})
		at = slot
	}
	return all
}

// ends is a heap of instants.
type ends []int64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(int64)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// collide finds the times in which more runs go on at once than there are slots, if each begins at its own.
func collide(tier spec.Tier, capacity int, starts []start, planned []plannedOf) (found []Collision) {
	slices.SortFunc(starts, func(a, b start) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.of, b.of)) })
	known := map[string]int{} // collisions by what makes them the same one
	var running ends
	var open *gathered
	closeIt := func() {
		if open == nil {
			return
		}
		one := open.collision(tier, capacity, planned)
		key := fmt.Sprint(one.At[0].Format("15:04:05"), one.Runs, one.Peak, len(one.Of))
		if at, is := known[key]; is {
			found[at].At = append(found[at].At, one.At[0])
		} else {
			known[key] = len(found)
			found = append(found, one)
		}
		open = nil
	}
	for i := 0; i < len(starts); {
		at, next := starts[i].at, i
		for len(running) > 0 && running[0] <= at {
			heap.Pop(&running)
		}
		if len(running) <= capacity {
			closeIt() // what ran over has ended since
		}
		for next < len(starts) && starts[next].at == at {
			heap.Push(&running, starts[next].end)
			next++
		}
		if len(running) > capacity && open == nil {
			open = &gathered{at: at, of: map[int]int{}}
		}
		if open != nil {
			open.peak = max(open.peak, len(running))
			for _, one := range starts[i:next] {
				open.runs++
				open.work += one.end - one.at
				open.of[one.of]++
			}
		}
		i = next
	}
	closeIt()
	return found
}

// gathered is a collision while it is found.
type gathered struct {
	at         int64
	runs, peak int
	work       int64 // milliseconds that its runs take
	of         map[int]int
}

func (g *gathered) collision(tier spec.Tier, capacity int, planned []plannedOf) Collision {
	one := Collision{Tier: tier, At: []time.Time{time.UnixMilli(g.at).UTC()}, Runs: g.runs, Peak: g.peak, Capacity: capacity}
	// The last run waits until all others have been through the capacity.
	one.Lag = max(time.Duration(g.work/int64(capacity)-g.work/int64(g.runs))*time.Millisecond, 0)
	for of, runs := range g.of {
		named := planned[of].CollisionOf
		named.Runs = runs
		one.Of = append(one.Of, named)
	}
	slices.SortFunc(one.Of, func(a, b CollisionOf) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Root, b.Root)) })
	one.MoreOf = max(len(one.Of)-collisionNames, 0)
	one.Of = one.Of[:len(one.Of)-one.MoreOf]
	return one
}
