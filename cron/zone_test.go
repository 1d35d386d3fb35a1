package cron

import (
	"archive/zip"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tables of periods must show what package time shows.
func TestZonesAgreeWithPackageTime(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, name := range zoneNames() {
		z, err := loadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(z.starts) || !slices.IsSorted(z.reached) {
			t.Fatalf("%s: periods are out of order", name)
		}
		check := func(instant int64) {
			_, offset := time.Unix(instant, 0).In(z.location).Zone()
			if got := z.wall(instant) - instant; got != int64(offset) {
				t.Fatalf("%s at %s: offset %d, package time has %d", name, time.Unix(instant, 0).UTC(), got, offset)
			}
		}
		for range 200 {
			check(r.Int64N(horizon))
		}
		for i, start := range z.starts[1:] {
			check(start)
			check(start - 1)
			if start < 0 || start > 2_000_000_000 {
				continue
			}
			// The next change that looking finds is the next period.
			middle := start + r.Int64N(max(1, min(z.end(i+1), horizon)-start))
			check(middle)
		}
	}
}

// Clocks that jump to and fro within the hour: no zone has done it since 1970,
// and the law still holds, each fixed slot once, when the clock first reaches it.
func TestClocksThatJumpToAndFro(t *testing.T) {
	midnight := at(t, "2026-06-01T00:00:00Z").Unix()
	z := &zone{}
	z.add(beginningOfTime, 0)
	z.add(midnight+120*60, 3600)  // 02:00 becomes 03:00
	z.add(midnight+150*60, 0)     // 03:30 becomes 02:30
	z.add(midnight+160*60, -3600) // 02:40 becomes 01:40
	for expression, want := range map[string][]int64{
		"45 1 * * *":     {105, 60*24 + 165},
		"35,50 2 * * *":  {120, 60*24 + 215, 60*24 + 230},
		"15,45 3 * * *":  {135, 285, 60*24 + 255},
		"45 * * * *":     {45, 105, 165, 225, 285},
		"35 2-2/1 * * *": {155, 215, 60*24 + 215},
	} {
		e, faults := compileExpression(expression, 0)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		after := midnight
		for _, minute := range want {
			slot, ok := z.nextSlot(&e, after)
			if !ok || slot != midnight+minute*60 {
				t.Fatalf("%s: next is minute %d, want %d", expression, (slot-midnight)/60, minute)
			}
			after = slot
		}
		if e.fixed { // and from a moment at which the clock has gone back twice
			slot, _ := z.nextSlot(&e, midnight+161*60)
			if first := slices.IndexFunc(want, func(minute int64) bool { return minute > 161 }); slot != midnight+want[first]*60 {
				t.Errorf("%s after the jumps: next is minute %d, want %d", expression, (slot-midnight)/60, want[first])
			}
		}
	}
}

// The list of names is the one of the toolchain's time/tzdata.
func TestZoneNamesAreComplete(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("the toolchain that holds the list is not here")
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("the toolchain's zoneinfo.zip is not here")
	}
	defer archive.Close()
	var want []string
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			want = append(want, file.Name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(zoneNames(), want) {
		t.Errorf("zones.txt holds %d names, zoneinfo.zip %d; write the latter, sorted, to zones.txt", len(zoneNames()), len(want))
	}
}

func TestDaysAreCountedAsByPackageTime(t *testing.T) {
	for day := int64(-800); day < 84_500; day++ {
		want := time.Unix(day*secondsPerDay, 0).UTC()
		year, month, date := civil(day)
		if year != want.Year() || month != int(want.Month()) || date != want.Day() || weekday(day) != int(want.Weekday()) {
			t.Fatalf("day %d is %d-%d-%d, want %s", day, year, month, date, want)
		}
		if dayNumber(year, month, date) != day {
			t.Fatalf("day %d comes back as %d", day, dayNumber(year, month, date))
		}
		if length := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day(); monthLength(year, month) != length {
			t.Fatalf("%d-%d has %d days, want %d", year, month, monthLength(year, month), length)
		}
	}
}
