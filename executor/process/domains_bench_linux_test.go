package process_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

// BenchmarkIsolation starts programs that end at once: as they are, each in a domain, and each in namespaces. Besides the time
// it reports the CPU of this process and of all that it has started.
func BenchmarkIsolation(b *testing.B) {
	for _, isolation := range []process.Isolation{process.IsolationNone, process.IsolationOwnDomain, process.IsolationStrict} {
		b.Run(string(isolation), func(b *testing.B) {
			if isolation == process.IsolationOwnDomain && process.CanOwnUsers() {
				b.Skip("a user without rights has domains")
			}
			s := newSite(b, isolation)
			before := spentCPU(b)
			for b.Loop() {
				start(b, s.host, "", func(c *process.Command) { c.Path, c.Args = "/bin/true", []string{"true"} }).end(b, s.host)
			}
			b.ReportMetric(float64((spentCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}

func spentCPU(b *testing.B) (spent time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		spent += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return spent
}
