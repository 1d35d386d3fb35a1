package templates

import "time"

// Effects are what a run's program does once, however many attempts it takes.
type Effects struct {
	Run  string // id
	Rows []EffectRow
	More bool // there are others, which are not among Rows
}

// EffectRow is one of them.
type EffectRow struct {
	Key     string
	Done    bool
	Unsure  bool // it was left open, so that it may have been done or not
	Attempt int  // that opened it last
	At      time.Time
	Result  string
}
