package spec

// Tier is a queue level and the executors that serve it.
type Tier string

// The tiers, from the shortest work to the longest.
const (
	TierLight  Tier = "light"
	TierMedium Tier = "medium"
	TierHeavy  Tier = "heavy"
)

// Class says whose runs go first inside a tier.
type Class string

// The classes; premium goes first, with a weighted share.
const (
	ClassStandard Class = "standard"
	ClassPremium  Class = "premium"
)

// Overlap defines what happens to a slot while an earlier run of the job is not over.
type Overlap string

// The overlap policies.
const (
	// OverlapSkip records the slot as skipped.
	OverlapSkip Overlap = "skip"
	// OverlapQueue starts the run once the earlier one is over.
	OverlapQueue Overlap = "queue"
	// OverlapAllow runs both at once.
	OverlapAllow Overlap = "allow"
	// OverlapReplace cancels the earlier run.
	OverlapReplace Overlap = "replace"
)

// WaveOverlap defines what happens to a slot of a DAG while a wave of it is not over.
type WaveOverlap string

// The overlap policies of DAGs.
const (
	// WaveSkip records the slot as skipped.
	WaveSkip WaveOverlap = "skip"
	// WaveQueue starts one wave more once the earlier one is over.
	WaveQueue WaveOverlap = "queue"
)

// CatchUpPolicy picks which missed slots run late.
type CatchUpPolicy string

// The catch-up policies.
const (
	CatchUpNone CatchUpPolicy = "none"
	CatchUpLast CatchUpPolicy = "last"
	CatchUpAll  CatchUpPolicy = "all"
)

// Delivery defines what happens to an attempt whose executor is lost.
type Delivery string

// The delivery guarantees.
const (
	// DeliveryAtLeastOnce tries a lost attempt again.
	DeliveryAtLeastOnce Delivery = "at_least_once"
	// DeliveryAtMostOnce never does.
	DeliveryAtMostOnce Delivery = "at_most_once"
)

// Stderr defines what becomes of the order and the origin of what a program prints to standard error.
type Stderr string

// The ways to take it.
const (
	// StderrMerged keeps standard output and error in the order of their writing, and does not tell which is which.
	StderrMerged Stderr = "merged"
	// StderrMarked tells which is which, and keeps the order only of what was written milliseconds apart.
	StderrMarked Stderr = "marked"
)

// enumeration is a string type that knows its values; the reader, the checks
// and the schema all ask it.
type enumeration interface{ values() []string }

func (Tier) values() []string          { return []string{"light", "medium", "heavy"} }
func (Class) values() []string         { return []string{"standard", "premium"} }
func (Overlap) values() []string       { return []string{"skip", "queue", "allow", "replace"} }
func (WaveOverlap) values() []string   { return []string{"skip", "queue"} }
func (CatchUpPolicy) values() []string { return []string{"none", "last", "all"} }
func (Delivery) values() []string      { return []string{"at_least_once", "at_most_once"} }
func (Stderr) values() []string        { return []string{"merged", "marked"} }
