package templates

import "strings"

// Scaling is how many executors each tier needs.
type Scaling struct {
	Page     Page
	Troubles []string
	Rows     []ScalingRow
}

// ScalingRow is one tier.
type ScalingRow struct {
	Tier                                string
	Wanted, Alive, Waiting, Busy, Slots int
	Oldest, Average                     string // "" where there is none
	Why                                 string
}

// advice says what to do, in words.
func (r ScalingRow) advice() string {
	switch missing := int64(r.Wanted - r.Alive); {
	case missing > 0:
		return "Start " + Plural(missing, "executor", "executors")
	case missing < 0:
		return "Up to " + Plural(-missing, "executor", "executors") + " could be drained"
	}
	return "Nothing to do"
}

func capitalTier(tier string) string {
	return strings.ToUpper(tier[:min(1, len(tier))]) + tier[min(1, len(tier)):]
}
