package wire

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Timeline is what ran and what is to come in a span of time, by jobs and DAGs.
type Timeline struct {
	From    time.Time       `json:"from"`
	Until   time.Time       `json:"until"`
	Lanes   []TimelineLane  `json:"lanes" doc:"By name"`
	Buckets []TimelineCount `json:"buckets" doc:"How many runs were made, and how many slots are to come, over all lanes"`
	Next    string          `json:"next,omitempty" doc:"What after is to be for further lanes"`
	All     int             `json:"all" doc:"How many lanes there are"`
	// What is left out.
	Reached time.Time `json:"reached,omitzero" doc:"Runs that were made before this time are left out, as there are too many: ask for a shorter span"`
	Beyond  time.Time `json:"beyond,omitzero" doc:"From this time on there may be slots that are not listed"`
}

// TimelineLane is what one job or DAG does.
type TimelineLane struct {
	Kind        string        `json:"kind" enum:"Job,DAG"`
	Name        string        `json:"name"`
	Runs        []TimelineRun `json:"runs" doc:"Of a DAG its waves; the earliest first"`
	Planned     []time.Time   `json:"planned" doc:"Slots to come"`
	PlannedMore bool          `json:"planned_more,omitempty" doc:"There are more slots in the span than these"`
	Takes       float64       `json:"takes_seconds,omitempty" doc:"How long its last runs took: the median"`
	Reached     time.Time     `json:"reached,omitzero" doc:"Its runs that were made before this time are left out"`
}

// TimelineRun is a run or a wave.
type TimelineRun struct {
	ID         string        `json:"id"`
	Epoch      int64         `json:"epoch,omitempty" doc:"Of a wave"`
	Status     engine.Status `json:"status"`
	Slot       time.Time     `json:"slot,omitzero"`
	Due        time.Time     `json:"due" doc:"Since when it waits"`
	StartedAt  time.Time     `json:"started_at,omitzero"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	Waited     float64       `json:"waited_seconds"`
	Took       float64       `json:"took_seconds" doc:"Without the waits between attempts; so far, where it goes on"`
	Attempts   int           `json:"attempts"`
}

// TimelineCount is how much was made, or is planned, in a part of the span.
type TimelineCount struct {
	From   time.Time             `json:"from"`
	Until  time.Time             `json:"until"`
	Runs   map[engine.Status]int `json:"runs,omitempty" doc:"By status"`
	Slots  int                   `json:"slots,omitempty" doc:"To come"`
	Capped bool                  `json:"capped,omitempty" doc:"There are more than were counted"`
}

// Collisions are the times at which more runs are planned than there are slots.
type Collisions struct {
	From     time.Time         `json:"from"`
	Until    time.Time         `json:"until"`
	Items    []Collision       `json:"items" doc:"The largest first"`
	More     int               `json:"more,omitempty" doc:"How many are not listed"`
	Capacity map[spec.Tier]int `json:"capacity" doc:"Slots of the executors that serve each tier"`
	Notes    []string          `json:"notes" doc:"What was not looked at, in words"`
}

// Collision is such a time.
type Collision struct {
	Tier      spec.Tier           `json:"tier"`
	At        []time.Time         `json:"at" doc:"When it begins; it may come again at the same time of day"`
	Runs      int                 `json:"runs" doc:"Planned until it is over"`
	Peak      int                 `json:"peak" doc:"How many go on at once, if each begins at its slot"`
	Capacity  int                 `json:"capacity"`
	Lag       float64             `json:"lag_seconds" doc:"About how long the last of them waits"`
	Schedules []CollisionSchedule `json:"schedules"`
	More      int                 `json:"more,omitempty" doc:"How many schedules are not listed"`
}

// CollisionSchedule is a schedule that takes part in a collision.
type CollisionSchedule struct {
	Kind     string   `json:"kind" enum:"Job,DAG"`
	Name     string   `json:"name"`
	Root     string   `json:"root,omitempty" doc:"Of a DAG"`
	Schedule []string `json:"schedule,omitempty"`
	Runs     int      `json:"runs" doc:"In the collision"`
	Takes    float64  `json:"takes_seconds,omitempty" doc:"How long its last runs took; left out where that is not known"`
	Spread   []string `json:"spread,omitempty" doc:"The schedule that would spread it"`
	Why      string   `json:"why,omitempty" doc:"Why there is none"`
}

// SpreadRequest says which schedules are to be spread.
type SpreadRequest struct {
	Schedules []SpreadSchedule `json:"schedules" minItems:"1" maxItems:"500"`
	DryRun    bool             `json:"dry_run,omitempty" doc:"Say what would become of them, and save nothing"`
}

// SpreadSchedule names a job or DAG.
type SpreadSchedule struct {
	Kind string `json:"kind,omitempty" enum:"Job,DAG" default:"Job"`
	Name string `json:"name"`
	ETag string `json:"etag,omitempty" doc:"As If-Match: a definition that was changed since is left as it is" example:"\"3\""`
}

// SpreadResult is what became of one.
type SpreadResult struct {
	Kind    string      `json:"kind" enum:"Job,DAG"`
	Name    string      `json:"name"`
	ETag    string      `json:"etag,omitempty"`
	Before  []string    `json:"before,omitempty" doc:"Its schedule"`
	After   []string    `json:"after,omitempty"`
	OldNext []time.Time `json:"old_next,omitempty" doc:"The next instants of the schedule before"`
	NewNext []time.Time `json:"new_next,omitempty" doc:"The next instants of the schedule after"`
	Saved   bool        `json:"saved"`
	Problem string      `json:"problem,omitempty" doc:"Why it was not saved, or cannot be spread"`
}
