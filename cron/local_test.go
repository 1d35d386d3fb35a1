package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/cron"
)

func TestLocalTimesAreReadByTheRuleOfFixedSchedules(t *testing.T) {
	for _, test := range []struct {
		zone, wall, want, note string
	}{
		{"UTC", "2026-03-29T02:30:00", "2026-03-29T02:30:00Z", ""},
		{"Europe/Berlin", "2026-11-24T03:00:00", "2026-11-24T02:00:00Z", ""},
		{"Europe/Berlin", "2026-03-29T01:59:59", "2026-03-29T00:59:59Z", ""},
		{"Europe/Berlin", "2026-03-29T02:00:00", "2026-03-29T01:00:00Z", "does not exist"},
		{"Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:00:00Z", "03:00 is taken"},
		{"Europe/Berlin", "2026-03-29T03:00:00", "2026-03-29T01:00:00Z", ""},
		{"Europe/Berlin", "2026-10-25T01:59:59", "2026-10-24T23:59:59Z", ""},
		{"Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z", "happens twice"},
		{"Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T02:00:00Z", ""},
		{"America/New_York", "2026-03-08T02:30:00", "2026-03-08T07:00:00Z", "does not exist"},
		{"America/New_York", "2026-11-01T01:15:00", "2026-11-01T05:15:00Z", "happens twice"},
		{"Australia/Lord_Howe", "2026-10-04T02:15:00", "2026-10-03T15:30:00Z", "02:30 is taken"}, // half an hour
		{"Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-04T14:45:00Z", "happens twice"},
		{"Pacific/Apia", "2011-12-30T12:00:00", "2011-12-30T10:00:00Z", "does not exist"}, // a whole day
		{"Asia/Kolkata", "2026-01-01T00:00:00", "2025-12-31T18:30:00Z", ""},
	} {
		location, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		wall, err := time.Parse("2006-01-02T15:04:05", test.wall)
		if err != nil {
			t.Fatal(err)
		}
		at, note := cron.Local(wall, location)
		if got := at.UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s in %s is %s, not %s", test.wall, test.zone, got, test.want)
		}
		if !strings.Contains(note, test.note) || test.note == "" && note != "" {
			t.Errorf("of %s in %s is said %q, want %q", test.wall, test.zone, note, test.note)
		}
	}
}

// Whatever instant a clock shows, reading what it shows leads back to it, or to the first pass of the same reading.
func TestLocalTimesOfEachHourOfAYearAreReadBack(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Tehran"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2026; at = at.Add(15 * time.Minute) {
			got, note := cron.Local(at.In(location), location)
			switch early := at.Sub(got); {
			case early == 0 && (note == "" || strings.Contains(note, "twice")):
			case early > 0 && early <= time.Hour && strings.Contains(note, "twice"):
			default:
				t.Fatalf("%s in %s is read as %s (%s)", at.In(location), zone, got.In(location), note)
			}
		}
	}
}
