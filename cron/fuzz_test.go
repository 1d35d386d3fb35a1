package cron

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// checkSchedule holds a schedule to what every schedule promises.
func checkSchedule(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Schedule, d Definition, after time.Time) {
	t.Helper()
	previous := after
	var chain []time.Time
	for range 20 {
		slot, ok := s.Next(previous)
		if !ok {
			break
		}
		if !slot.After(previous) {
			t.Fatalf("%+v: slot %s is not after %s", d, slot, previous)
		}
		if slot.Before(d.From) || !d.Until.IsZero() && !slot.Before(d.Until) || slot.Unix() >= horizon {
			t.Fatalf("%+v: slot %s lies outside the window", d, slot)
		}
		if slot.Nanosecond()%int(time.Millisecond) != 0 || slot.Location() != time.UTC {
			t.Fatalf("%+v: slot %s is not in milliseconds, UTC", d, slot)
		}
		if s.Kind() != KindAfter {
			if again, ok := s.Next(slot.Add(-1)); !ok || !again.Equal(slot) {
				t.Fatalf("%+v: slot %s, asked for again, is %s", d, slot, again)
			}
		}
		chain, previous = append(chain, slot), slot
	}
	if len(chain) > 0 {
		if between := slices.Collect(s.Between(after, chain[len(chain)-1])); !slices.EqualFunc(between, chain, time.Time.Equal) {
			t.Fatalf("%+v: between %v, next %v", d, between, chain)
		}
	}
	var fires []time.Time
	previous = after
	for range 3 {
		slot, ok := s.NextFire(previous)
		if !ok {
			break
		}
		if !slot.After(previous) || s.Excluded(slot) {
			t.Fatalf("%+v: fires at %s after %s, excluded %t", d, slot, previous, s.Excluded(slot))
		}
		fires, previous = append(fires, slot), slot
	}
	for i, slot := range s.Preview(after, 3) {
		if i >= len(fires) || !slot.Slot.Equal(fires[i]) {
			t.Fatalf("%+v: preview has %s, fires %v", d, slot.Slot, fires)
		}
	}
	if s.Describe() == "" {
		t.Fatalf("%+v: no description", d)
	}
}

// FuzzCompile puts any text in: what compiles must hold its promises, what does
// not must say why. A hang shows as the fuzzer's own time limit.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"0 3 * * *", "*/5 * * * *", "* * * * * *", "15 0 3 1 1 * 2027-2030/2", "0 0 29 2 *", "0 0 29 2 */7", "0 0 30 2 *", "0 0 L,15W * 5L,1#2",
		"H H(0-7)/2 H * H", "@daily", "@every 90s", "@every 1h30m", "@reboot", "0 0 * JAN-MAR FRI-SUN", "0 22-6 * * *", "?/5 * * * *", "*/99999 * * * *",
		"+1 -2 1e3 0x5 ٣", "1,,2 * * * *", "TZ=UTC 0 3 * * *", "0 0 0 31 */2 ? 9999", "59 59 23 31 12 7 2199", "0 0 1 1 * 2027", "H(59-0) * * * *", "\x00 \xff * * *",
		"30 2 * * *;0 1 * * *;*/7 */2 * * *",
	} {
		f.Add(seed, "", uint16(0), int64(1_772_900_000), int64(0), "team/job")
		f.Add(seed, "* 2 * * *", uint16(77), int64(1_793_500_000), int64(1_000_000_000), "x")
		f.Add(seed, seed, uint16(301), int64(1_325_100_000), int64(-5), "")
	}
	f.Fuzz(func(t *testing.T, schedule, exclude string, zoneIndex uint16, after, window int64, key string) {
		d := Definition{Cron: strings.Split(schedule, ";"), Key: key, Timezone: zoneNames()[int(zoneIndex)%len(zoneNames())]}
		if exclude != "" {
			d.Exclude = []Exclusion{{Cron: exclude}}
		}
		if window != 0 {
			d.From = time.Unix(after%4e9, window%1e9)
			d.Until = d.From.Add(time.Duration(window) * time.Second)
		}
		s, err := Compile(d)
		if err != nil {
			var faults Errors
			if !errors.As(err, &faults) {
				t.Fatalf("%q: %v is no list of faults", schedule, err)
			}
			for _, fault := range faults {
				if fault.Field == "" || fault.Message == "" {
					t.Fatalf("%q: fault %+v says nothing", schedule, fault)
				}
			}
			return
		}
		checkSchedule(t, s, d, time.Unix(after, 0))
	})
}

func TestPromises(t *testing.T) {
	instants := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
			return rapid.SampledFrom([]time.Time{{}, time.Unix(-1, 5), time.Unix(horizon, 0), time.Unix(horizon-1, 999_999_999), time.Unix(math.MaxInt32<<8, 0)}).Draw(t, "instant")
		}
		return time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
	})
	field := func(low, high int, others ...string) *rapid.Generator[string] {
		number := rapid.Map(rapid.IntRange(low, high), twoDigits)
		return rapid.OneOf(
			rapid.SampledFrom(append([]string{"*", "*", "?", "*/2", "*/7", "H", "H/3"}, others...)),
			number,
			rapid.Map(rapid.SliceOfN(number, 1, 4), func(list []string) string { return strings.Join(list, ",") }),
			rapid.Map(rapid.SliceOfN(rapid.IntRange(low, high), 2, 2), func(ends []int) string {
				slices.Sort(ends)
				return twoDigits(ends[0]) + "-" + twoDigits(ends[1])
			}),
		)
	}
	expressions := rapid.Custom(func(t *rapid.T) string {
		fields := []string{
			field(0, 59).Draw(t, "minute"), field(0, 23).Draw(t, "hour"), field(1, 31, "L", "15W", "1W", "*", "*").Draw(t, "day"),
			field(1, 12, "*", "FEB").Draw(t, "month"), field(0, 7, "5L", "MON#1", "MON-FRI", "*", "*").Draw(t, "weekday"),
		}
		if rapid.Bool().Draw(t, "seconds") {
			fields = slices.Insert(fields, 0, field(0, 59).Draw(t, "second"))
			if rapid.Bool().Draw(t, "year") {
				fields = append(fields, rapid.SampledFrom([]string{"*", "2026-2040", "*/4"}).Draw(t, "years"))
			}
		}
		return strings.Join(fields, " ")
	})
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		d := Definition{
			Timezone: rapid.SampledFrom(zoneNames()).Draw(t, "zone"),
			Key:      rapid.String().Draw(t, "key"),
			Anchor:   instants.Draw(t, "anchor"),
		}
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			d.Every = time.Duration(rapid.Int64Range(10, 1_000_000_000).Draw(t, "every")) * time.Millisecond
		case 1:
			d.After = time.Duration(rapid.Int64Range(10, 1_000_000_000).Draw(t, "after")) * time.Millisecond
		case 2:
			d.At = instants.Draw(t, "at")
		default:
			d.Cron = rapid.SliceOfN(expressions, 1, 4).Draw(t, "cron")
		}
		if rapid.IntRange(0, 3).Draw(t, "windowed") == 0 {
			d.From = instants.Draw(t, "from")
			d.Until = d.From.Add(time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "window")) * time.Second)
		}
		for range rapid.IntRange(0, 2).Draw(t, "exclusions") {
			d.Exclude = append(d.Exclude, Exclusion{Cron: expressions.Draw(t, "exclude")})
		}
		s, err := Compile(d)
		if err != nil {
			return
		}
		compiled++
		checkSchedule(t, s, d, instants.Draw(t, "after"))
	})
	if compiled == 0 {
		t.Error("no definition compiled")
	}
}

func twoDigits(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }
