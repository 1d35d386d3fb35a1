package service

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// ShortestTimeline is the shortest window of a timeline.
	ShortestTimeline = time.Minute
	// LongestTimeline is the longest window of a timeline.
	LongestTimeline = 31 * 24 * time.Hour
	// TimelineLanes is how many lanes a timeline has at most.
	TimelineLanes = 500
	// TimelineRuns is how many runs, and how many waves, are read for one.
	TimelineRuns = 2_000

	timelineBack    = 6 * time.Hour // how far before its window runs are looked for that reach into it; twice its length if that is more
	plannedPerLane  = 200           // slots of a lane that are listed
	timelineBuckets = 96            // how many there are, about
)

// TimelineQuery selects what a timeline shows. Zero fields do not narrow it.
type TimelineQuery struct {
	Namespace string
	engine.Window
	Text     string // in the name of the job or DAG; case is ignored
	Label    string // "key" or "key=value"
	Tier     spec.Tier
	Statuses []engine.Status
	After    string // the last lane of the page before
	Lanes    int    // at most; default and most TimelineLanes
}

// chooses reports whether the query asks for certain definitions: then these are found first, and their runs one by one.
func (q *TimelineQuery) chooses() bool { return q.Text != "" || q.Label != "" }

func (q *TimelineQuery) back() time.Time {
	return q.From.Add(-max(timelineBack, 2*q.Until.Sub(q.From)))
}

// open are those of the statuses asked for with which a run goes on.
func (q *TimelineQuery) open() (open []engine.Status) {
	for _, status := range engine.Statuses() {
		if !status.Terminal() && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, status)) {
			open = append(open, status)
		}
	}
	return open
}

// Timeline is what ran and what is to come in a window, by jobs and DAGs.
type Timeline struct {
	Tides
	engine.Window
	Bucket time.Duration // the length of those of Tides
	Lanes  []Lane        // by name
	// Next is what the page of further lanes begins after, "" if there are none; All is how many lanes there are.
	Next string
	All  int
	// Reached is from when on every run that was made is known: what was made before it is left out, as there is too much. Zero: none
	// is left out.
	Reached time.Time
	// MoreChosen says that more jobs or DAGs match than are looked at.
	MoreChosen bool
}

// Lane is what one job or DAG does in a window.
type Lane struct {
	DAG     bool
	Name    string
	Bars    []Bar       // runs, or waves of a DAG, the earliest first
	Planned []time.Time // slots to come, plannedPerLane at most
	More    bool        // there are more slots in the window
	Takes   time.Duration
	// Reached is as that of the Timeline, for this lane.
	Reached time.Time
}

// key orders lanes, and is what a page begins after.
func (l *Lane) key() string {
	if l.DAG {
		return l.Name + "/"
	}
	return l.Name
}

// Bar is a run or a wave.
type Bar struct {
	ID       string
	Epoch    int64 // of a wave that has opened
	Status   engine.Status
	Trigger  engine.Trigger
	Slot     time.Time // zero for what was triggered otherwise
	Due      time.Time // since when it waits, or from when on it is to
	Started  time.Time
	Finished time.Time // zero while it goes on
	Attempts int
	Parts    []BarPart // in the order of time
}

// BarPart is a time in which a run waited, or ran.
type BarPart struct {
	From, Until time.Time // Until is zero while it goes on
	Waiting     bool
}

// Waited is how long it waited until it began first, or waits so far.
func (b *Bar) Waited(now time.Time) time.Duration {
	end := b.Started
	if end.IsZero() {
		end = b.Finished
	}
	if end.IsZero() {
		end = now
	}
	return max(end.Sub(b.Due), 0)
}

// Took is how long it ran, so far where it goes on.
func (b *Bar) Took(now time.Time) (took time.Duration) {
	for _, part := range b.Parts {
		if part.Waiting {
			continue
		}
		if part.Until.IsZero() {
			part.Until = now
		}
		took += max(part.Until.Sub(part.From), 0)
	}
	return took
}

// Timeline reports what ran and what is to come. Its cost is bounded, whatever the history: it reads TimelineRuns runs and
// as many waves, the newest of the window first, and says what it leaves out.
func (s *Service) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	if q.Lanes <= 0 || q.Lanes > TimelineLanes {
		q.Lanes = TimelineLanes
	}
	t := Timeline{Window: q.Window, Bucket: bucketOf(q.Until.Sub(q.From))}
	if err := checkTimeline(q.Window); err != nil {
		return Timeline{}, err
	}
	made := lanes{s: s, q: &q, now: s.now(), of: map[string]*Lane{}, seen: map[string]bool{}}
	var err error
	if q.chooses() {
		err = made.readChosen(ctx)
	} else {
		err = made.readAll(ctx)
	}
	if err != nil {
		return Timeline{}, err
	}
	if err := made.plan(ctx); err != nil {
		return Timeline{}, err
	}
	if q.chooses() || q.Tier != "" {
		t.Tides = made.tides(t.Bucket)
	} else if t.Tides, err = s.Tides(ctx, q.Namespace, q.Window, t.Bucket); err != nil {
		return Timeline{}, err
	}
	t.narrow(q.Statuses)
	if t.Beyond.IsZero() || !made.beyond.IsZero() && made.beyond.Before(t.Beyond) {
		t.Beyond = made.beyond
	}
	t.MoreChosen = made.more
	if made.reached.After(q.From) {
		t.Reached = made.reached
	}
	t.Lanes, t.Next, t.All = made.page()
	return t, nil
}

// bucketOf is a length of which some timelineBuckets are in a window, and that people count in.
func bucketOf(window time.Duration) time.Duration {
	lengths := []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	for _, length := range lengths {
		if window/length <= timelineBuckets {
			return length
		}
	}
	return lengths[len(lengths)-1]
}

// narrow leaves the counts of statuses that were not asked for out.
func (t *Timeline) narrow(statuses []engine.Status) {
	if len(statuses) == 0 {
		return
	}
	for i := range t.Past {
		for _, status := range engine.Statuses() {
			if !slices.Contains(statuses, status) {
				t.Past[i].Runs[status] = engine.Tally{}
			}
		}
	}
	if !slices.Contains(statuses, engine.StatusScheduled) {
		for i := range t.Future {
			t.Future[i].Slots, t.Future[i].Jobs, t.Future[i].Names = engine.Tally{}, 0, nil
		}
		t.Beyond = time.Time{}
	}
}

// lanes gathers what a timeline shows.
type lanes struct {
	s       *Service
	q       *TimelineQuery
	now     time.Time
	of      map[string]*Lane
	seen    map[string]bool        // by the ids of runs and waves
	tasks   []engine.ScheduledTask // that fire in the window
	owners  map[string]taskOwner   // by their ids
	reached time.Time
	beyond  time.Time
	more    bool
}

func (l *lanes) lane(dag bool, name string) *Lane {
	made := Lane{DAG: dag, Name: name}
	if known := l.of[made.key()]; known != nil {
		return known
	}
	l.of[made.key()] = &made
	return &made
}

// reach notes that runs made before an instant are left out.
func (l *lanes) reach(at time.Time) {
	if at.After(l.reached) {
		l.reached = at
	}
}

// add puts a bar into a lane, if it touches the window and is not there yet.
func (l *lanes) add(dag bool, name string, bar Bar) {
	switch {
	case bar.Due.IsZero() || !bar.Due.Before(l.q.Until):
		return
	case !bar.Finished.IsZero() && bar.Finished.Before(l.q.From):
		return
	case bar.Due.After(l.now) && bar.Trigger == engine.TriggerSchedule: // its slot is to come, and planned
		return
	}
	if !l.seen[bar.ID] {
		l.seen[bar.ID] = true
		lane := l.lane(dag, name)
		lane.Bars = append(lane.Bars, bar)
	}
}

// plan fills in the slots to come.
func (l *lanes) plan(ctx context.Context) error {
	q := l.q
	if !q.Until.After(l.now) || len(q.Statuses) > 0 && !slices.Contains(q.Statuses, engine.StatusScheduled) {
		return nil
	}
	if l.tasks == nil && !q.chooses() {
		var err error
		if l.tasks, l.beyond, err = l.s.upcomingBefore(ctx, q.Namespace, q.Until); err != nil {
			return err
		}
	}
	ids := make([]string, len(l.tasks))
	for i := range l.tasks {
		ids[i] = l.tasks[i].ID
	}
	if l.owners == nil {
		var err error
		if l.owners, err = l.s.ownersOf(ctx, ids); err != nil {
			return err
		}
	}
	takes, err := l.s.typical(ctx, ids)
	if err != nil {
		return err
	}
	for i := range l.tasks {
		task := &l.tasks[i]
		owner, known := l.owners[task.ID]
		if !known || !owner.ofTier(q.Tier) {
			continue
		}
		slots, more := l.slots(&owner, task)
		if len(slots) == 0 {
			continue
		}
		name := owner.label
		if owner.dag != nil {
			name = owner.dag.Name
		}
		lane := l.lane(owner.dag != nil, name)
		lane.Planned, lane.More = append(lane.Planned, slots...), lane.More || more
		if owner.dag == nil {
			lane.Takes = takes[task.ID]
		}
	}
	for _, lane := range l.of {
		slices.SortFunc(lane.Planned, time.Time.Compare)
		lane.Planned = slices.CompactFunc(lane.Planned, time.Time.Equal) // roots that fire together
		if lane.DAG {
			lane.Takes = lane.median(l.now)
		}
	}
	return nil
}

// slots are those of a schedule in what of the window is to come.
func (l *lanes) slots(owner *taskOwner, task *engine.ScheduledTask) (slots []time.Time, more bool) {
	schedule, err := cron.Compile(owner.cron)
	if err != nil {
		return nil, false
	}
	after := l.now
	if l.q.From.After(after) {
		after = l.q.From.Add(-time.Millisecond)
	}
	if !fixed(schedule) {
		if task.RunAt.After(after) && task.RunAt.Before(l.q.Until) {
			slots = append(slots, task.RunAt)
		}
		return slots, false
	}
	for {
		slot, ok := schedule.NextFire(after)
		if !ok || !slot.Before(l.q.Until) {
			return slots, false
		}
		if len(slots) == plannedPerLane {
			return slots, true
		}
		slots = append(slots, slot)
		after = slot
	}
}

// ofTier reports whether a definition has runs of a tier; "" is any.
func (o *taskOwner) ofTier(tier spec.Tier) bool {
	if tier == "" {
		return true
	}
	if o.dag != nil {
		return dagOfTier(o.dag, tier)
	}
	return o.job.Spec.Tier == tier
}

func dagOfTier(dag *engine.DAG, tier spec.Tier) bool {
	for i := range dag.Spec.Tasks {
		if tier == "" || dag.Spec.TaskJob(i).Tier == tier {
			return true
		}
	}
	return tier == ""
}

// median is how long the bars of a lane took; 0 where none has ended.
func (l *Lane) median(now time.Time) time.Duration {
	var took []time.Duration
	for i := range l.Bars {
		if !l.Bars[i].Finished.IsZero() && l.Bars[i].Status != engine.StatusCancelled {
			took = append(took, l.Bars[i].Took(now))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// page are the lanes of the page that was asked for. A job that was asked for and did nothing has an empty one, unless it was
// statuses that were asked for.
func (l *lanes) page() (page []Lane, next string, all int) {
	for _, lane := range l.of {
		if len(lane.Bars)+len(lane.Planned) == 0 && len(l.q.Statuses) > 0 {
			continue
		}
		slices.SortFunc(lane.Bars, func(a, b Bar) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
		page = append(page, *lane)
	}
	slices.SortFunc(page, func(a, b Lane) int { return strings.Compare(a.key(), b.key()) })
	all = len(page)
	if l.q.After != "" {
		at, found := slices.BinarySearchFunc(page, l.q.After, func(lane Lane, after string) int { return strings.Compare(lane.key(), after) })
		if found {
			at++
		}
		page = page[at:]
	}
	if len(page) > l.q.Lanes {
		page = page[:l.q.Lanes]
		next = page[l.q.Lanes-1].key()
	}
	return page, next, all
}

// tides counts what the lanes hold, where it is narrowed to what no index counts.
func (l *lanes) tides(bucket time.Duration) Tides {
	tides := Tides{Now: l.now}
	for from := l.q.From.Truncate(bucket); from.Before(l.q.Until); from = from.Add(bucket) {
		span := engine.Window{From: from, Until: from.Add(bucket)}
		past, future := PastBucket{Window: span}, FutureBucket{Window: span}
		if past.Until.After(l.now) {
			past.Until = l.now
		}
		if future.From.Before(l.now) {
			future.From = l.now
		}
		if past.From.Before(l.now) {
			tides.Past = append(tides.Past, past)
		}
		if future.Until.After(l.now) {
			tides.Future = append(tides.Future, future)
		}
	}
	for _, lane := range l.of {
		for i := range lane.Bars {
			if at := slices.IndexFunc(tides.Past, func(b PastBucket) bool { return within(b.Window, lane.Bars[i].Due) }); at >= 0 {
				tides.Past[at].Runs[lane.Bars[i].Status].N++
			}
		}
		for i := range tides.Future {
			b, n := &tides.Future[i], 0
			for _, slot := range lane.Planned {
				if within(b.Window, slot) {
					n++
				}
			}
			if b.Slots.More = b.Slots.More || lane.More; n > 0 {
				b.Slots.N, b.Jobs = b.Slots.N+n, b.Jobs+1
				if len(b.Names) < plannedNames {
					b.Names = append(b.Names, lane.Name)
				}
			}
		}
	}
	for i := range tides.Future {
		slices.Sort(tides.Future[i].Names)
	}
	return tides
}

func within(window engine.Window, at time.Time) bool {
	return !at.Before(window.From) && at.Before(window.Until)
}

// checkTimeline refuses a window that is no window.
func checkTimeline(window engine.Window) error {
	switch length := window.Until.Sub(window.From); {
	case length < ShortestTimeline:
		return field("invalid_range", "query.until", "until must be at least a minute after from")
	case length > LongestTimeline:
		return field("invalid_range", "query.until", "the range is %s long: at most %d days are shown", length.Round(time.Hour), int(LongestTimeline/(24*time.Hour)))
	}
	return nil
}
