package cron

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestPreview(t *testing.T) {
	newYork := func(expressions ...string) Definition {
		return Definition{Cron: expressions, Timezone: "America/New_York"}
	}
	for name, test := range map[string]struct {
		definition Definition
		after      string
		want       []string
	}{
		"gap": {
			newYork("30 2 * * *"), "2026-03-07T12:00:00Z",
			[]string{"2026-03-08 03:00 02:30 does not exist on this day (clocks go forward): runs at 03:00 instead", "2026-03-09 02:30 "},
		},
		"several in a gap": {
			newYork("*/15 2 * * *", "20 2 * * *"), "2026-03-07T12:00:00Z",
			[]string{"2026-03-08 03:00 02:00 to 02:45 do not exist on this day (clocks go forward): runs once, at 03:00 instead"},
		},
		"elapsed over a gap": {
			newYork("30 * * * *"), "2026-03-08T06:00:00Z",
			[]string{"2026-03-08 01:30 ", "2026-03-08 03:30 02:30 does not exist on this day (clocks go forward): nothing runs in its place", "2026-03-08 04:30 "},
		},
		"a skipped day": {
			Definition{Cron: []string{"0 3 * * *"}, Timezone: "Pacific/Apia"}, "2011-12-30T00:00:00Z",
			[]string{"2011-12-31 00:00 2011-12-30 03:00 does not exist on this day (clocks go forward): runs at 00:00 instead", "2011-12-31 03:00 "},
		},
		"repeat, fixed": {
			newYork("30 1 * * *"), "2026-11-01T00:00:00Z",
			[]string{"2026-11-01 01:30 first of two 01:30 (clocks go back); the second does not run", "2026-11-02 01:30 "},
		},
		"repeat, elapsed": {
			newYork("0 * * * *"), "2026-11-01T04:00:00Z",
			[]string{"2026-11-01 01:00 first pass of the repeated hour (clocks go back)", "2026-11-01 01:00 second pass of the repeated hour (clocks go back)", "2026-11-01 02:00 "},
		},
		"repeat of half an hour": {
			Definition{Cron: []string{"45 * * * *"}, Timezone: "Australia/Lord_Howe"}, "2026-04-04T14:00:00Z",
			[]string{"2026-04-05 01:45 first pass of the repeated 30m (clocks go back)", "2026-04-05 01:45 second pass of the repeated 30m (clocks go back)", "2026-04-05 02:45 "},
		},
		"one excluded": {
			Definition{Cron: []string{"0 3 * * *"}, Exclude: []Exclusion{{Cron: "0 3 25 12 *"}}}, "2026-12-24T00:00:00Z",
			[]string{"2026-12-24 03:00 ", `2026-12-26 03:00 passes over the slot of 2026-12-25 03:00, excluded by "0 3 25 12 *"`},
		},
		"several excluded": {
			Definition{Cron: []string{"0 3 * * *"}, Exclude: []Exclusion{{From: at(t, "2026-12-25T00:00:00Z"), To: at(t, "2026-12-28T00:00:00Z")}}}, "2026-12-24T12:00:00Z",
			[]string{"2026-12-28 03:00 passes over 3 excluded slots from 2026-12-25 03:00 to 2026-12-27 03:00, the first excluded by 2026-12-25T00:00:00Z to 2026-12-28T00:00:00Z"},
		},
		"many excluded": {
			Definition{Every: time.Second, Exclude: []Exclusion{{Cron: "* * 25 12 *"}}}, "2026-12-24T23:59:59Z",
			[]string{`2026-12-26 00:00 passes over more than 1000 excluded slots from 2026-12-25 00:00 on, the first excluded by "* * 25 12 *"`},
		},
		"ends":   {Definition{At: at(t, "2026-12-24T00:00:00Z")}, "2026-12-01T00:00:00Z", []string{"2026-12-24 00:00 "}},
		"manual": {Definition{}, "2026-12-01T00:00:00Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, test.definition)
			n := len(test.want)
			if name == "ends" || name == "manual" {
				n += 3
			}
			var got []string
			for _, slot := range s.Preview(at(t, test.after), n) {
				if !slot.Slot.Equal(slot.Local) || slot.Slot.Location() != time.UTC || slot.Local.Location() != s.Location() || slot.Excluded {
					t.Errorf("slot %+v", slot)
				}
				got = append(got, fmt.Sprintf("%s %s", slot.Local.Format("2006-01-02 15:04"), slot.Note))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestExplainNamesTheExclusion(t *testing.T) {
	s := mustCompile(t, Definition{Cron: []string{"30 2 * * *"}, Timezone: "America/New_York", Exclude: []Exclusion{{Cron: "* 2 * * SUN"}}})
	for instant, want := range map[string]string{
		"2026-03-15T02:30:00-04:00": `excluded by "* 2 * * SUN"`,
		"2026-03-08T03:00:00-04:00": "excluded by the time it was planned for; 02:30 does not exist on this day (clocks go forward): runs at 03:00 instead",
	} {
		if slot := s.Explain(at(t, instant)); !slot.Excluded || slot.Note != want {
			t.Errorf("%s: %t, %q, want %q", instant, slot.Excluded, slot.Note, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for want, d := range map[string]Definition{
		"at 03:00, every day, Asia/Dhaka":                                   {Cron: []string{"0 3 * * *"}, Timezone: "Asia/Dhaka"},
		"at 03:00:30, every day, UTC":                                       {Cron: []string{"30 0 3 * * *"}},
		"at 03:00 and 15:00, every day, UTC":                                {Cron: []string{"0 15,3 * * *"}},
		"every second, UTC":                                                 {Cron: []string{"* * * * * *"}},
		"every 10 seconds, UTC":                                             {Cron: []string{"*/10 * * * * *"}},
		"every minute, UTC":                                                 {Cron: []string{"* * * * *"}},
		"every 5 minutes, on Monday to Friday, UTC":                         {Cron: []string{"*/5 * * * MON-FRI"}},
		"every hour, UTC":                                                   {Cron: []string{"@hourly"}},
		"every 7th minute (0 to 56, then 4 later) of every hour, UTC":       {Cron: []string{"*/7 * * * *"}},
		"at minutes 0 and 30 of every hour, UTC":                            {Cron: []string{"0,30 * * * *"}},
		"at minute 15 of every 2nd hour, every day, UTC":                    {Cron: []string{"15 */2 * * *"}},
		"every 10th minute of hours 9 to 17, every day, UTC":                {Cron: []string{"*/10 9-17 * * *"}},
		"at minute 0 of hours 1 to 3 and 5, every day, UTC":                 {Cron: []string{"0 1-3,5 * * *"}},
		"at 00:00, on day 1 of the month, UTC":                              {Cron: []string{"@monthly"}},
		"at 00:00, on day 1 of the month in January, UTC":                   {Cron: []string{"@yearly"}},
		"at 00:00, on Sunday, UTC":                                          {Cron: []string{"@weekly"}},
		"at 00:00, on the last day of the month, UTC":                       {Cron: []string{"0 0 L * *"}},
		"at 00:00, on the last weekday of the month, UTC":                   {Cron: []string{"0 0 LW * *"}},
		"at 00:00, on 3 days before the last day of the month, UTC":         {Cron: []string{"0 0 L-3 * *"}},
		"at 00:00, on 1 day before the last day of the month, UTC":          {Cron: []string{"0 0 L-1 * *"}},
		"at 00:00, on day 13 of the month, UTC":                             {Cron: []string{"0 0 13 * *,1"}},
		"at 00:00, on the last Friday of the month, UTC":                    {Cron: []string{"0 0 * * 5L"}},
		"at 00:00, on the 2nd Monday of the month, UTC":                     {Cron: []string{"0 0 * * 1#2"}},
		"at 00:00, on the weekday nearest day 15 of the month, UTC":         {Cron: []string{"0 0 15W * *"}},
		"at 00:00, on day 13 of the month or on Friday, UTC":                {Cron: []string{"0 0 13 * 5"}},
		"at 00:00, on every 2nd day of the month if it is Friday, UTC":      {Cron: []string{"0 0 */2 * 5"}},
		"at 00:00, in March to May and July, UTC":                           {Cron: []string{"0 0 * 3-5,7 *"}},
		"at 00:00, every day of year 2027, UTC":                             {Cron: []string{"0 0 0 * * * 2027"}},
		"at 00:00, on every 2nd day of the week from Monday to Friday, UTC": {Cron: []string{"0 0 * * 1-5/2"}},
		"at 03:00, every day; every 1m30s, UTC":                             {Cron: []string{"0 3 * * *", "@every 90s"}},
		"every 1h30m":                                                       {Every: 90 * time.Minute},
		"every 2h":                                                          {Every: 2 * time.Hour},
		"10m after the end of each run":                                     {After: 10 * time.Minute},
		"once, at 2027-01-01 05:59:59, Asia/Dhaka":                          {At: at(t, "2026-12-31T23:59:59Z"), Timezone: "Asia/Dhaka"},
		"manual only": {},
		`at 03:00, every day, UTC, from 2026-01-01 00:00, until 2027-01-01 00:00, except "* * 25 12 *" and "* * 1 1 *"`: {
			Cron: []string{"0 3 * * *"}, From: at(t, "2026-01-01T00:00:00Z"), Until: at(t, "2027-01-01T00:00:00Z"),
			Exclude: []Exclusion{{Cron: "* * 25 12 *"}, {Cron: "* * 1 1 *"}},
		},
	} {
		if got := mustCompile(t, d).Describe(); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", d, got, want)
		}
	}
}
