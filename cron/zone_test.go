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
