package wire

import "github.com/tidewheel/tidewheel/spec"

// Scaling reports how many executors are needed.
type Scaling struct {
	Tiers map[spec.Tier]TierScaling `json:"tiers" doc:"By tier: light, medium, heavy"`
}

// TierScaling reports how many executors a tier needs, and why.
type TierScaling struct {
	Wanted           int     `json:"wanted" doc:"How many executors whose own tier it is there should be"`
	Alive            int     `json:"alive" doc:"How many there are that do not drain"`
	Waiting          int     `json:"waiting" doc:"Runs that any executor of the tier may take"`
	WaitingForLabels int     `json:"waiting_for_labels" doc:"Runs that only executors with certain labels may take; they count for nothing here"`
	Busy             int     `json:"busy" doc:"Attempts that these executors run"`
	Oldest           float64 `json:"oldest_seconds" doc:"How long the first of what waits has waited"`
	Average          float64 `json:"average_seconds" doc:"How long the last runs took; 0: none has ended"`
	SlotsOfOne       int     `json:"slots_of_one" doc:"Slots of one executor; 0: none is there to count them"`
	SlotsWanted      int     `json:"slots_wanted"`
	Why              string  `json:"why" doc:"In words"`
}
