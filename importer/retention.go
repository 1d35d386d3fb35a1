package importer

import (
	"math"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// historyOf returns how many runs a CronJob or a CronWorkflow keeps: those that succeeded and those that failed together, as Tidewheel
// counts them.
func (b *builder) historyOf(cron node) (kept spec.Retention) {
	line := 0
	for _, key := range []string{"successfulJobsHistoryLimit", "failedJobsHistoryLimit"} {
		if limit, ok := cron.get(key).number(); ok && limit >= 0 {
			kept.Runs += min(limit, spec.MaxKeptRuns)
			line = max(line, cron.get(key).line())
		}
	}
	if line == 0 {
		return kept
	}
	kept.Runs = min(max(kept.Runs, 1), spec.MaxKeptRuns)
	b.note(line, "of those that have ended the newest are kept, whether they succeeded or failed: retention.runs is %d", kept.Runs)
	return kept
}

// keptFor reads an age after which what has ended is removed, as a number of some unit. One that Tidewheel cannot keep to is noted; 0 is
// for none.
func (b *builder) keptFor(n node, of string, unit time.Duration) spec.Duration {
	number, ok := n.number()
	switch {
	case n.none():
		return 0
	case !ok || number < 0 || int64(number) > math.MaxInt64/int64(unit):
		b.note(n.line(), "%s: %q is no time that Tidewheel knows, and is left out: runs are kept for --retention", of, n.text())
		return 0
	}
	age := spec.Duration(time.Duration(number) * unit)
	if bound := min(max(age, spec.MinRetention), spec.MaxRetention); bound != age {
		b.note(n.line(), "%s: runs are kept for %s, which is as near as Tidewheel comes", of, bound)
		age = bound
	}
	return age
}
