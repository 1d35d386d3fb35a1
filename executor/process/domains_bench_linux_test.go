package process_test

import (
	"fmt"
	"testing"

	"github.com/tidewheel/tidewheel/executor/process"
)

// BenchmarkDomain starts programs that end at once, with a domain for each and without.
func BenchmarkDomain(b *testing.B) {
	for _, domains := range []bool{false, true} {
		b.Run(fmt.Sprintf("domains=%t", domains), func(b *testing.B) {
			s := newSite(b, domains)
			for b.Loop() {
				start(b, s.host, "", func(c *process.Command) { c.Path, c.Args = "/bin/true", []string{"true"} }).end(b, s.host)
			}
		})
	}
}
