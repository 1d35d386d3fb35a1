package templates

// Job is the page of one job: what comes, what was, and how long it took.
type Job struct {
	Shown

	Binary     string
	BinaryName string   // to link to; "" for a digest
	RunsOn     []string // labels that its executors must have, "key=value"
	Next       ScheduleSlots
	Runs       []RunRow
	Lag        Chart
}
