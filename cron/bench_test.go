package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
)

var benchmarked = []struct {
	name       string
	definition Definition
}{
	{"every-5-minutes", Definition{Cron: []string{"*/5 * * * *"}, Timezone: "America/New_York"}},
	{"daily-at-3", Definition{Cron: []string{"0 3 * * *"}, Timezone: "America/New_York"}},
	{"daily-at-3-UTC", Definition{Cron: []string{"0 3 * * *"}}},
	{"leap-day", Definition{Cron: []string{"0 0 29 2 *"}, Timezone: "America/New_York"}},
	{"leap-day-on-a-Sunday", Definition{Cron: []string{"0 */2 29 2 */7"}, Timezone: "America/New_York"}},
	{"every-second", Definition{Cron: []string{"* * * * * *"}, Timezone: "America/New_York"}},
	{"at-every-90s", Definition{Cron: []string{"@every 90s"}}},
	{"five-expressions", Definition{Cron: []string{"0 3 * * *", "30 */2 * * MON-FRI", "15 8-18 1,15 * *", "0 0 L * *", "0 12 * * SUN#2"}, Timezone: "Europe/Berlin"}},
}

func BenchmarkNext(b *testing.B) {
	for _, benchmark := range benchmarked {
		b.Run(benchmark.name, func(b *testing.B) {
			s := mustCompile(b, benchmark.definition)
			start := at(b, "2026-11-20T11:00:00Z")
			b.ReportAllocs()
			slot := start
			for b.Loop() {
				next, ok := s.Next(slot)
				if !ok {
					next = start
				}
				slot = next
			}
		})
	}
}

func BenchmarkNextFire(b *testing.B) {
	s := mustCompile(b, Definition{
		Cron: []string{"* * * * * *"}, Timezone: "America/New_York",
		Exclude: []Exclusion{{Cron: "* * * 1-11 *"}, {Cron: "* * * * 1-5"}, {Cron: "* 0-22 * * *"}},
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.NextFire(time.Unix(1_800_000_000, 0)); !ok {
			b.Fatal("no slot")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, benchmark := range benchmarked {
		b.Run(benchmark.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustCompile(b, benchmark.definition)
			}
		})
	}
}

// BenchmarkGronxNext is what stepping with gronx itself costs.
func BenchmarkGronxNext(b *testing.B) {
	for _, expression := range []string{"*/5 * * * *", "0 3 * * *", "0 0 29 2 *", "* * * * * *"} {
		b.Run(expression, func(b *testing.B) {
			start := at(b, "2026-11-20T11:00:00Z")
			b.ReportAllocs()
			slot := start
			for b.Loop() {
				next, err := gronx.NextTickAfter(expression, slot, false)
				if err != nil {
					b.Fatal(err)
				}
				slot = next
			}
		})
	}
}

// hostile definitions are the slowest that were found.
var hostile = map[string]Definition{
	"all-modifiers": {Cron: []string{"0 0 " + list("%dW", 1, 31) + ",L * " + list("%dL", 0, 6) + "," + list("1#%d", 1, 5)}},
	"many-parts":    {Cron: []string{list("%d-59/7", 0, 40) + " " + list("%d-23/3", 0, 22) + " * * *"}},
	"by-turns":      {Cron: []string{"* * * * * *"}, Exclude: []Exclusion{{Cron: "*/2 * * * *"}, {Cron: "1-59/2 * * * *"}}},
	"slot-by-slot":  {Cron: []string{"0 3 * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "0 3 * 1-11 *"}, {Cron: "0 3 * * 0-5"}, {Cron: "0 3 * 12 6"}}},
	"years":         {Cron: []string{"0 0 0 29 2 */7 " + list("%d/999", 1, 50)}, Exclude: []Exclusion{{Cron: "* * * * *"}}},
}

func list(format string, from, to int) string {
	var parts []string
	for n := from; n <= to; n++ {
		parts = append(parts, fmt.Sprintf(format, n))
	}
	return strings.Join(parts, ",")
}

func BenchmarkHostileCompile(b *testing.B) {
	for name, definition := range hostile {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = Compile(definition)
			}
		})
	}
}
