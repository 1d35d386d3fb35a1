package wheel_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine/wheel"
)

const million = 1_000_000

// instants returns a million of them within span, drawn from a fixed seed.
func instants(span time.Duration) []time.Time {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]time.Time, million)
	for i := range all {
		all[i] = start.Add(time.Duration(random.Int64N(int64(span))))
	}
	return all
}

// BenchmarkMillion schedules a million timers, then advances through their span step by step until all have fired.
func BenchmarkMillion(b *testing.B) {
	for _, c := range []struct {
		name       string
		span, step time.Duration
	}{
		{"hour by 10ms", time.Hour, 10 * time.Millisecond},
		{"day by 1s", 24 * time.Hour, time.Second},
		{"year at once", 365 * 24 * time.Hour, 365 * 24 * time.Hour},
		{"one instant", 1, time.Minute},
	} {
		b.Run(c.name, func(b *testing.B) {
			all := instants(c.span)
			b.ReportAllocs()
			for b.Loop() {
				w := wheel.New[int](start)
				for i, at := range all {
					w.Schedule(at, i)
				}
				count := 0
				for now := start; count < million; {
					now = now.Add(c.step)
					w.Advance(now, func(time.Time, int) { count++ })
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/timer")
		})
	}
}

// BenchmarkNext is what a loop does for each event: fire the earliest of a million timers, schedule another, ask for
// the next.
func BenchmarkNext(b *testing.B) {
	w := wheel.New[int](start)
	for i, at := range instants(time.Hour) {
		w.Schedule(at, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		next, _ := w.Next()
		w.Advance(next, func(at time.Time, value int) { w.Schedule(at.Add(time.Hour), value) })
	}
}

// BenchmarkTimeout is the life of a timeout: scheduled far ahead, cancelled soon, each time the earliest of a thousand.
func BenchmarkTimeout(b *testing.B) {
	w := wheel.New[int](start)
	var live []*wheel.Timer[int]
	now := start
	for range 1000 {
		now = now.Add(50 * time.Microsecond)
		live = append(live, w.Schedule(now.Add(10*time.Minute), 0))
	}
	oldest := 0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(50 * time.Microsecond)
		w.Advance(now, func(time.Time, int) { b.Error("a cancelled timer fired") })
		w.Cancel(live[oldest])
		live[oldest] = w.Schedule(now.Add(10*time.Minute), 0)
		oldest = (oldest + 1) % len(live)
		w.Next()
	}
}

// BenchmarkIdle advances by a year, past nothing, with one timer further away.
func BenchmarkIdle(b *testing.B) {
	w := wheel.New[int](start)
	w.Schedule(start.AddDate(250_000_000, 0, 0), 0)
	now := start
	for b.Loop() {
		now = now.Add(365 * 24 * time.Hour)
		w.Advance(now, func(time.Time, int) {})
	}
}
