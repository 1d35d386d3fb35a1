package wire

import "time"

// JobStatistics reports how the last runs of a job went. Spans are in seconds.
type JobStatistics struct {
	Runs      int    `json:"runs" doc:"How many of the last runs these figures are of; at most 200"`
	Ended     int    `json:"ended" doc:"How many of them succeeded or failed"`
	Succeeded int    `json:"succeeded"`
	Duration  Spread `json:"duration" doc:"From the first process to the last end"`
	Lag       Spread `json:"lag" doc:"From the slot to the process, of what the schedule fired"`
}

// Spread reports how spans are distributed, in seconds.
type Spread struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	Max   float64 `json:"max"`
}

// CalendarDay reports what happened to the slots of one day.
type CalendarDay struct {
	From    time.Time        `json:"from" doc:"Its first instant in the zone of the schedule"`
	Fired   int              `json:"fired"`
	Failed  int              `json:"failed" doc:"Those of fired that ended badly"`
	Skipped int64            `json:"skipped"`
	Missed  int64            `json:"missed"`
	ByHand  int              `json:"by_hand" doc:"Runs that stand for no slot"`
	Planned int              `json:"planned" doc:"Slots to come"`
	More    bool             `json:"more,omitempty" doc:"There were more runs than were counted"`
	Reasons map[string]int64 `json:"reasons,omitempty" doc:"Why slots did not fire, and how many"`
}

// Calendar is what happened to a job's slots in a month, by days.
type Calendar struct {
	Month    string        `json:"month"`
	Timezone string        `json:"timezone"`
	Items    []CalendarDay `json:"items"`
}
