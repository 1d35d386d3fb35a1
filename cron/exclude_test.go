package cron

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestExcluded(t *testing.T) {
	for name, test := range map[string]struct {
		definition Definition
		excluded   []string
		fires      []string
	}{
		"one slot": {
			Definition{Cron: []string{"*/30 * * * * *"}, Exclude: []Exclusion{{Cron: "0 3 25 12 *"}}},
			[]string{"2026-12-25T03:00:00Z", "2026-12-25T03:00:30Z"},
			[]string{"2026-12-25T03:01:00Z", "2026-12-25T02:59:30Z", "2026-12-24T03:00:00Z"},
		},
		"at its own resolution": {
			Definition{Cron: []string{"*/30 * * * * *"}, Exclude: []Exclusion{{Cron: "0 0 3 25 12 *"}, {Cron: "0 0 4 25 12 * *"}}},
			[]string{"2026-12-25T03:00:00Z", "2026-12-25T04:00:00Z"},
			[]string{"2026-12-25T03:00:30Z", "2026-12-25T04:00:30Z"},
		},
		"a day in its zone": {
			Definition{Every: time.Minute, Timezone: "Asia/Dhaka", Exclude: []Exclusion{{Cron: "* * 25 12 * 2026"}}},
			[]string{"2026-12-24T18:00:00Z", "2026-12-25T17:59:00Z"},
			[]string{"2026-12-24T17:59:00Z", "2026-12-25T18:00:00Z", "2027-12-25T12:00:00Z"},
		},
		"a window": {
			Definition{Every: time.Second, Exclude: []Exclusion{{From: at(t, "2026-12-25T00:00:00+06:00"), To: at(t, "2026-12-26T00:00:00+06:00")}}},
			[]string{"2026-12-24T18:00:00Z", "2026-12-25T17:59:59.999Z"},
			[]string{"2026-12-24T17:59:59Z", "2026-12-25T18:00:00Z"},
		},
		"both passes": {
			Definition{Cron: []string{"0 * * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "0 1 * * *"}}},
			[]string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00"},
			[]string{"2026-11-01T02:00:00-05:00"},
		},
		"planned for a time in the gap": {
			Definition{Cron: []string{"30 2 * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "* 2 * * SUN"}}},
			[]string{"2026-03-08T03:00:00-04:00"},
			[]string{"2026-03-09T02:30:00-04:00"},
		},
		"planned for several, not all excluded": {
			Definition{Cron: []string{"0,30 2 * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "30 2 * * *"}}},
			[]string{"2026-03-09T02:30:00-04:00"},
			[]string{"2026-03-08T03:00:00-04:00"},
		},
		"not moved onto another": {
			Definition{Cron: []string{"0 * * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "30 2 * * *"}}},
			nil,
			[]string{"2026-03-08T03:00:00-04:00"},
		},
		"an expression of elapsed time meets it": {
			Definition{Cron: []string{"30 2 * * *", "0 * * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "30 2 * * *"}}},
			[]string{"2026-03-09T02:30:00-04:00"},
			[]string{"2026-03-08T03:00:00-04:00"},
		},
		"a fixed rate meets it": {
			Definition{Cron: []string{"30 2 * * *", "@every 1h"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "30 2 * * *"}}},
			nil,
			[]string{"2026-03-08T03:00:00-04:00"},
		},
		"expressions that do not meet it have no say": {
			Definition{Cron: []string{"30 2 * * *", "15 * * * *", "@every 7h11m"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "30 2 * * *"}}},
			[]string{"2026-03-08T03:00:00-04:00"},
			nil,
		},
		"an instant after a gap that is no slot": {
			Definition{Cron: []string{"0 12 * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "0 3 * * *"}}},
			[]string{"2026-03-08T03:00:00-04:00"},
			[]string{"2026-03-08T12:00:00-04:00"},
		},
		"shown time is excluded, planned one is not": {
			Definition{Cron: []string{"30 2 * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "0 3 * * *"}}},
			nil,
			[]string{"2026-03-08T03:00:00-04:00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, test.definition)
			for _, slot := range test.excluded {
				if !s.Excluded(at(t, slot)) {
					t.Errorf("%s is not excluded", slot)
				}
			}
			for _, slot := range test.fires {
				if s.Excluded(at(t, slot)) {
					t.Errorf("%s is excluded", slot)
				}
			}
		})
	}
}

// NextFire leaps; walking slot by slot must end at the same slot.
func TestNextFireFindsWhatWalkingFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	zoneOf := []string{"", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Beirut"}
	starts := []string{"2026-03-07T20:00:00Z", "2026-10-31T20:00:00Z", "2011-12-29T20:00:00Z", "2026-04-04T00:00:00Z", "2026-03-28T00:00:00Z"}
	compared, excluded := 0, 0
	for range 600 {
		d := Definition{Timezone: zoneOf[r.IntN(len(zoneOf))]}
		start := at(t, starts[r.IntN(len(starts))])
		switch r.IntN(6) {
		case 0:
			d.Every = time.Duration(1+r.IntN(5000)) * time.Second
		case 1:
			d.After = time.Duration(1+r.IntN(5000))*time.Second + 7*time.Millisecond
		default:
			for range 1 + r.IntN(2) {
				d.Cron = append(d.Cron, randomExpressionOf(r, r.IntN(4) == 0).text)
			}
		}
		for range 1 + r.IntN(3) {
			if r.IntN(3) == 0 {
				from := start.Add(time.Duration(r.IntN(72*3600)) * time.Second)
				d.Exclude = append(d.Exclude, Exclusion{From: from, To: from.Add(time.Duration(1+r.IntN(24*3600)) * time.Second)})
			} else {
				d.Exclude = append(d.Exclude, Exclusion{Cron: randomExpressionOf(r, r.IntN(4) == 0).text})
			}
		}
		s, err := Compile(d)
		if err != nil {
			continue // impossible dates, or all excluded
		}
		var want []time.Time
		slot, ok := s.Next(start)
		for steps := 0; ok && steps < 20_000 && len(want) < 20; steps++ {
			if !s.Excluded(slot) {
				want = append(want, slot)
			} else {
				excluded++
			}
			slot, ok = s.Next(slot)
		}
		var got []time.Time
		for after := start; len(got) < len(want); {
			next, ok := s.NextFire(after)
			if !ok {
				break
			}
			got, after = append(got, next), next
		}
		compared++
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%+v from %s:\n got %v\nwant %v", d, start, got, want)
		}
	}
	if compared < 200 || excluded < 1000 {
		t.Errorf("only %d schedules with %d excluded slots were compared", compared, excluded)
	}
}
