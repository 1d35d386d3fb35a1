package spec

import "time"

// What a definition means where it says nothing.
const (
	DefaultTimeout       = Duration(time.Hour)
	DefaultGrace         = Duration(10 * time.Second)
	DefaultTimezone      = "UTC"
	DefaultMaxAttempts   = 1
	DefaultRetryDelay    = Duration(5 * time.Second)
	DefaultRetryMaxDelay = Duration(5 * time.Minute)
	DefaultCatchUpWindow = Duration(time.Hour)
	DefaultOutput        = Gibibyte
)

// The longest timeouts of the light and the medium tier.
const (
	LightTimeout  = Duration(10 * time.Minute)
	MediumTimeout = Duration(time.Hour)
)

// ApplyDefaults fills every field that is not given and has a default. It is
// idempotent, and changes nothing that was given.
func (j *Job) ApplyDefaults() {
	fill(&j.Kind, KindJob)
	fill(&j.Timezone, DefaultTimezone)
	fill(&j.Timeout, DefaultTimeout)
	fill(&j.Grace, DefaultGrace)
	fill(&j.Tier, tierFor(j.Timeout))
	fill(&j.Class, ClassStandard)
	fill(&j.Retry.MaxAttempts, DefaultMaxAttempts)
	fill(&j.Retry.Delay, DefaultRetryDelay)
	fill(&j.Retry.MaxDelay, maxDelayFor(j.Retry.Delay))
	fill(&j.Overlap, OverlapSkip)
	fill(&j.CatchUp.Policy, CatchUpLast)
	fill(&j.CatchUp.Window, DefaultCatchUpWindow)
	fill(&j.Delivery, DeliveryAtLeastOnce)
	fill(&j.Stderr, StderrMerged)
	fill(&j.Limits.Output, DefaultOutput)
}

// dropDefaults is the inverse of ApplyDefaults: what the defaults would give
// is left out again. Defaults that follow from other fields go first.
func (j *Job) dropDefaults() {
	drop(&j.Tier, tierFor(j.Timeout))
	drop(&j.Retry.MaxDelay, maxDelayFor(j.Retry.Delay))
	drop(&j.Timezone, DefaultTimezone)
	drop(&j.Timeout, DefaultTimeout)
	drop(&j.Grace, DefaultGrace)
	drop(&j.Class, ClassStandard)
	drop(&j.Retry.MaxAttempts, DefaultMaxAttempts)
	drop(&j.Retry.Delay, DefaultRetryDelay)
	drop(&j.Overlap, OverlapSkip)
	drop(&j.CatchUp.Policy, CatchUpLast)
	drop(&j.CatchUp.Window, DefaultCatchUpWindow)
	drop(&j.Delivery, DeliveryAtLeastOnce)
	drop(&j.Stderr, StderrMerged)
	drop(&j.Limits.Output, DefaultOutput)
}

func tierFor(timeout Duration) Tier {
	switch {
	case timeout <= LightTimeout:
		return TierLight
	case timeout <= MediumTimeout:
		return TierMedium
	default:
		return TierHeavy
	}
}

// A long first delay lifts the ceiling, so that delay alone can be given.
func maxDelayFor(delay Duration) Duration { return max(DefaultRetryMaxDelay, delay) }

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func drop[T comparable](field *T, value T) {
	if *field == value {
		var zero T
		*field = zero
	}
}
