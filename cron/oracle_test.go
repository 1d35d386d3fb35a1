package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// An oracle knows what a clock shows at each tick of a stretch of time, because
// it has looked, and finds slots by looking through all of it.
type oracle struct {
	tick    int64 // seconds
	instant []int64
	shown   []wallOf
	wall    []int64
}

func newOracle(location *time.Location, from, to, tick int64) *oracle {
	o := &oracle{tick: tick}
	for instant := from; instant < to; instant += tick {
		local := time.Unix(instant, 0).In(location)
		shown := wallOfTime(local)
		o.instant = append(o.instant, instant)
		o.shown = append(o.shown, shown)
		o.wall = append(o.wall, time.Date(shown.year, time.Month(shown.month), shown.day, shown.hour, shown.minute, shown.second, 0, time.UTC).Unix())
	}
	return o
}

// slots applies the law as it is written, not as the package computes it.
func (o *oracle) slots(e randomExpression) []int64 {
	var found []int64
	if !e.fixed {
		for i, shown := range o.shown {
			if e.due(shown) {
				found = append(found, o.instant[i])
			}
		}
		return found
	}
	first := map[int64]int64{}
	for i, wall := range o.wall {
		if _, seen := first[wall]; !seen {
			first[wall] = o.instant[i]
		}
	}
	for wall := o.wall[0]; wall <= o.wall[len(o.wall)-1]; wall += o.tick {
		if !e.due(wallOfTime(time.Unix(wall, 0).UTC())) {
			continue
		}
		if instant, exists := first[wall]; exists {
			found = append(found, instant)
			continue
		}
		for i := 1; i < len(o.wall); i++ { // in a gap: the first instant after it
			if o.wall[i-1] < wall && wall < o.wall[i] {
				found = append(found, o.instant[i])
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// transitions finds, by looking once a day and then bisecting, when a zone's
// offset changes.
func transitions(location *time.Location, fromYear, toYear int) []int64 {
	offset := func(instant int64) int {
		_, seconds := time.Unix(instant, 0).In(location).Zone()
		return seconds
	}
	var found []int64
	at := time.Date(fromYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	end := time.Date(toYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for before := offset(at); at < end; at += 86400 {
		after := offset(at + 86400)
		if after == before {
			continue
		}
		low, high := at, at+86400
		for high-low > 1 {
			if middle := (low + high) / 2; offset(middle) == before {
				low = middle
			} else {
				high = middle
			}
		}
		found, before = append(found, high), after
	}
	return found
}

func compareWithOracle(t *testing.T, o *oracle, zoneName string, expressions []randomExpression, from, to int64) {
	t.Helper()
	var texts []string
	var want []int64
	for _, e := range expressions {
		texts = append(texts, e.text)
		for _, slot := range o.slots(e) {
			if slot > from && slot <= to {
				want = append(want, slot)
			}
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	s := mustCompile(t, Definition{Cron: texts, Timezone: zoneName})
	var got []int64
	for slot := range s.Between(time.Unix(from, 0), time.Unix(to, 0)) {
		got = append(got, slot.Unix())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s %q from %s to %s:\n got %s\nwant %s", zoneName, texts, time.Unix(from, 0).UTC(), time.Unix(to, 0).UTC(), clocks(s, got), clocks(s, want))
	}
}

// compareFromAnywhere asks for the next slot from instants that are no slots,
// the second pass of a repeated hour among them.
func compareFromAnywhere(t *testing.T, r *rand.Rand, o *oracle, zoneName string, e randomExpression, change, reach int64) {
	t.Helper()
	s := mustCompile(t, Definition{Cron: []string{e.text}, Timezone: zoneName})
	slots := o.slots(e)
	for range 30 {
		after := change - reach + r.Int64N(2*reach)
		i, _ := slices.BinarySearch(slots, after+1)
		if i == len(slots) || slots[i] > change+reach {
			continue
		}
		if got, ok := s.Next(time.Unix(after, 0)); !ok || got.Unix() != slots[i] {
			t.Errorf("%s %q after %s: got %s, want %s", zoneName, e.text, time.Unix(after, 0).In(s.Location()), got.In(s.Location()), time.Unix(slots[i], 0).In(s.Location()))
		}
	}
}

func clocks(s *Schedule, instants []int64) string {
	text := ""
	for _, instant := range instants[:min(len(instants), 40)] {
		text += time.Unix(instant, 0).In(s.Location()).Format(" 02T15:04:05-0700")
	}
	return fmt.Sprintf("%d:%s", len(instants), text)
}

const hourly = 3600

// Every zone, a sample of its transitions, random expressions, minute by minute.
func TestSlotsAgreeWithTheOracleInEveryZone(t *testing.T) {
	seen := map[string]bool{}
	compared, kinds := 0, map[int64]bool{}
	for _, name := range zoneNames() {
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		changes := transitions(location, 2000, 2041)
		_, offset := time.Unix(0, 0).In(location).Zone()
		if signature := fmt.Sprint(offset, changes); seen[signature] || len(changes) == 0 {
			continue
		} else {
			seen[signature] = true
		}
		r := rand.New(rand.NewPCG(1, uint64(len(seen))))
		for range 2 {
			compared++
			change := changes[r.IntN(len(changes))]
			kinds[zoneDelta(location, change)] = true
			o := newOracle(location, change-30*hourly, change+30*hourly, 60)
			for range 3 {
				e := []randomExpression{randomExpressionOf(r, false)}
				if r.IntN(3) == 0 {
					e = append(e, randomExpressionOf(r, false))
				}
				if impossible(e) {
					continue
				}
				compareWithOracle(t, o, name, e, change-26*hourly, change+26*hourly)
				compareFromAnywhere(t, r, o, name, e[0], change, 3*hourly)
			}
		}
	}
	t.Logf("%d distinct zones, %d transitions, lengths %v", len(seen), compared, kinds)
	if len(seen) < 100 {
		t.Errorf("only %d distinct zones were compared", len(seen))
	}
}

func zoneDelta(location *time.Location, change int64) int64 {
	_, before := time.Unix(change-1, 0).In(location).Zone()
	_, after := time.Unix(change, 0).In(location).Zone()
	return int64(after - before)
}

// impossible reports whether Compile would refuse one of them for its date.
func impossible(expressions []randomExpression) bool {
	for _, e := range expressions {
		if _, err := Compile(Definition{Cron: []string{e.text}}); err != nil {
			return true
		}
	}
	return false
}

// Transitions that are unlike the common hour, all of their years.
func TestSlotsAgreeWithTheOracleAtOddTransitions(t *testing.T) {
	for _, odd := range []struct {
		zone     string
		from, to int
		reach    int64 // hours
	}{
		{"Australia/Lord_Howe", 1981, 2030, 6}, // half an hour, once a whole one
		{"Antarctica/Troll", 2005, 2030, 6},    // two hours
		{"Pacific/Apia", 2009, 2022, 54},       // skipped 30 December 2011
		{"Pacific/Fakaofo", 2011, 2012, 54},    // the same
		{"Pacific/Kwajalein", 1993, 1994, 54},  // skipped 21 August 1993
		{"America/Sao_Paulo", 2010, 2020, 30},  // midnight does not exist
		{"Asia/Beirut", 2015, 2030, 30},        // the same
		{"America/Havana", 2015, 2030, 30},     // the same
		{"America/Asuncion", 2015, 2025, 30},   // the same
		{"Africa/Casablanca", 2015, 2030, 6},   // pauses around Ramadan
		{"Africa/El_Aaiun", 2015, 2030, 6},     // the same
		{"America/Caracas", 2007, 2017, 6},     // half an hour, for good
		{"Asia/Pyongyang", 2015, 2019, 6},      // half an hour at 23:30 and at midnight
		{"Asia/Kathmandu", 1985, 1987, 6},      // a quarter
		{"Asia/Gaza", 2008, 2030, 30},          // four a year in some
		{"Europe/Dublin", 1970, 1973, 6},       // negative daylight saving
		{"Europe/Istanbul", 2010, 2017, 6},
		{"Europe/Volgograd", 2010, 2021, 6},
		{"America/Scoresbysund", 2023, 2026, 6},
		{"Asia/Tehran", 2015, 2023, 30},
	} {
		location, err := time.LoadLocation(odd.zone)
		if err != nil {
			t.Fatal(err)
		}
		changes := transitions(location, odd.from, odd.to)
		if len(changes) == 0 {
			t.Errorf("%s has no transition from %d to %d", odd.zone, odd.from, odd.to)
		}
		r := rand.New(rand.NewPCG(2, uint64(odd.from)))
		r.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for _, change := range changes[:min(len(changes), 8)] {
			o := newOracle(location, change-(odd.reach+26)*hourly, change+(odd.reach+26)*hourly, 60)
			for range 6 {
				e := []randomExpression{randomExpressionOf(r, false)}
				if !impossible(e) {
					compareWithOracle(t, o, odd.zone, e, change-odd.reach*hourly, change+odd.reach*hourly)
				}
			}
		}
	}
}

// Second by second, with a seconds field; Monrovia's clock moved by 44:30.
func TestSlotsAgreeWithTheOracleBySeconds(t *testing.T) {
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Monrovia", "America/Sao_Paulo"} {
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, uint64(len(name))))
		changes := transitions(location, 1971, 2036)
		for range 4 {
			change := changes[r.IntN(len(changes))]
			o := newOracle(location, change-4*hourly, change+4*hourly, 1)
			for range 4 {
				e := []randomExpression{randomExpressionOf(r, true)}
				if !impossible(e) {
					compareWithOracle(t, o, name, e, change-2*hourly, change+2*hourly)
				}
			}
		}
	}
}
