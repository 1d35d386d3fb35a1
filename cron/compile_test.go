package cron

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	instant := func(text string) time.Time { return at(t, text) }
	for name, test := range map[string]struct {
		definition Definition
		want       []string
	}{
		"minute":          {Definition{Cron: []string{"61 * * * *"}}, []string{"schedule[0]: minute 61 is outside 0-59"}},
		"hour":            {Definition{Cron: []string{"0 24 * * *"}}, []string{"schedule[0]: hour 24 is outside 0-23"}},
		"day":             {Definition{Cron: []string{"0 0 0 * *"}}, []string{"schedule[0]: day of month 0 is outside 1-31"}},
		"month":           {Definition{Cron: []string{"0 0 1 13 *"}}, []string{"schedule[0]: month 13 is outside 1-12"}},
		"weekday":         {Definition{Cron: []string{"0 0 * * 8"}}, []string{"schedule[0]: day of week 8 is outside 0-7"}},
		"second":          {Definition{Cron: []string{"60 * * * * *"}}, []string{"schedule[0]: second 60 is outside 0-59"}},
		"W":               {Definition{Cron: []string{"0 0 32W * *"}}, []string{"schedule[0]: day of month 32 is outside 1-31"}},
		"L- and too much": {Definition{Cron: []string{"0 0 L-31 * *"}}, []string{`schedule[0]: "L-31" is not understood in the day of month; after L- stands how many days before the last one, 1 to 30`}},
		"L- and W":        {Definition{Cron: []string{"0 0 L-3W * *"}}, []string{`schedule[0]: "L-3W" is not understood in the day of month; after L- stands how many days before the last one, 1 to 30`}},
		"step, minutes":   {Definition{Cron: []string{"*/61 * * * *"}}, []string{`schedule[0]: the step of the minute in "*/61" is longer than the field, which has 60 values; for a fixed rate write @every 61m`}},
		"step, hours":     {Definition{Cron: []string{"0 8-18/25 * * *"}}, []string{`schedule[0]: the step of the hour in "8-18/25" is longer than the field, which has 24 values; for a fixed rate write @every 25h`}},
		"step, weekdays":  {Definition{Cron: []string{"0 0 * * H/8"}}, []string{`schedule[0]: the step of the day of week in "H/8" is longer than the field, which has 7 values`}},
		"sixth Monday":    {Definition{Cron: []string{"0 0 * * 1#6"}}, []string{`schedule[0]: "1#6" is not understood in the day of week; the number after # is 1 to 5, as in 1#2 for the second Monday`}},
		"bare L":          {Definition{Cron: []string{"0 0 * * L"}}, []string{"schedule[0]: L alone is not understood in the day of week: some schedulers read it as each Saturday; write SAT for that, or 6L for the last Saturday of the month"}},
		"name out of place": {
			Definition{Cron: []string{"MON 0 * * *"}},
			[]string{`schedule[0]: "MON" is not understood in the minute; write 0-59, a range such as 5-10, a step such as */5, a list, H or *`},
		},
		"all of a field and of the expressions": {
			Definition{Cron: []string{"0 3 * * *", "61,62 25 * * *", "* *"}},
			[]string{
				"schedule[1]: minute 61 is outside 0-59", "schedule[1]: minute 62 is outside 0-59", "schedule[1]: hour 25 is outside 0-23",
				"schedule[2]: has 2 fields; an expression has 5 (minute hour day month weekday), 6 (second first) or 7 (second first, year last)",
			},
		},
		"sign":              {Definition{Cron: []string{"+5 0 * * *"}}, []string{`schedule[0]: "+5" is not understood in the minute; write 0-59, a range such as 5-10, a step such as */5, a list, H or *`}},
		"step":              {Definition{Cron: []string{"*/0 * * * *"}}, []string{`schedule[0]: the step of the minute in "*/0" must be a whole number from 1 on`}},
		"step twice":        {Definition{Cron: []string{"*/5/5 * * * *"}}, []string{`schedule[0]: the step of the minute in "*/5/5" must be a whole number from 1 on`}},
		"backwards":         {Definition{Cron: []string{"0 22-6 * * *"}}, []string{"schedule[0]: the range 22-6 of the hour runs backwards; write 22-23,0-6"}},
		"weekday backwards": {Definition{Cron: []string{"0 0 * * FRI-MON"}}, []string{"schedule[0]: the range FRI-MON of the day of week runs backwards; write 5-6,0-1"}},
		"empty entry":       {Definition{Cron: []string{"1,,2 0 * * *"}}, []string{"schedule[0]: the minute has an empty entry; write nothing before the first, after the last or between two commas"}},
		"empty":             {Definition{Cron: []string{" "}}, []string{`schedule[0]: is empty; write an expression such as "0 3 * * *" or @daily`}},
		"tag":               {Definition{Cron: []string{"@dayly"}}, []string{`schedule[0]: unknown tag "@dayly"; did you mean @daily?`}},
		"reboot":            {Definition{Cron: []string{"@reboot"}}, []string{"schedule[0]: @reboot names no time; run the job manually, or give it a schedule"}},
		"every nothing":     {Definition{Cron: []string{"@every 0s"}}, []string{`schedule[0]: 0s is too short; the shortest interval is 1s`}},
		"every negative":    {Definition{Cron: []string{"@every -5s"}}, []string{`schedule[0]: -5s is negative; write an interval such as 90s`}},
		"every":             {Definition{Cron: []string{"@every soon"}}, []string{`schedule[0]: "@every soon" is not understood; write an interval such as @every 90s or @every 1h30m`}},
		"every, short":      {Definition{Cron: []string{"@every 1us"}}, []string{"schedule[0]: 1µs is too short; the shortest interval is 1s"}},
		"zone in it":        {Definition{Cron: []string{"CRON_TZ=UTC 0 3 * * *"}}, []string{"schedule[0]: a zone cannot stand in the expression; write it under timezone"}},
		"hash":              {Definition{Cron: []string{"H(5 0 * * *"}}, []string{`schedule[0]: "H(5" is not understood in the minute; write H, H(0-59), H/5 or H(0-59)/5`}},
		"hash backwards":    {Definition{Cron: []string{"H(9-5) 0 * * *"}}, []string{"schedule[0]: the range of H(9-5) in the minute runs backwards; write H(5-9)"}},
		"hashed year":       {Definition{Cron: []string{"0 0 0 1 1 * H"}}, []string{"schedule[0]: H cannot stand for the year; write the year"}},
		"too long":          {Definition{Cron: []string{strings.Repeat("1,", 300) + "1 * * * *"}}, []string{"schedule[0]: is 609 bytes long; an expression has at most 512: write ranges and steps, or several expressions"}},
		"30 February":       {Definition{Cron: []string{"0 0 30 2 *"}}, []string{"schedule[0]: never fires: 30 February never comes"}},
		"31 in short months": {
			Definition{Cron: []string{"0 0 31 4,6,9,11 *"}},
			[]string{"schedule[0]: never fires: 31 April, June, September, November never comes"},
		},
		"leap day of a common year": {Definition{Cron: []string{"0 0 0 29 2 * 2027"}}, []string{"schedule[0]: never fires: 29 February does not come in the years 2027"}},
		"year out of reach":         {Definition{Cron: []string{"0 0 0 1 1 * 2500"}}, []string{"schedule[0]: never fires: the years 2500 lie outside 1970-2199, in which schedules are kept"}},
		"past year": {
			Definition{Cron: []string{"0 0 0 1 1 * 2020"}, Anchor: instant("2026-11-20T00:00:00Z")},
			[]string{"schedule: never fires: no slot comes after 2026-11-20T00:00:00Z; the years it names are over"},
		},
		"past year of an edit": {
			Definition{Cron: []string{"0 0 0 1 1 * 2020"}, Anchor: instant("2019-11-20T00:00:00Z"), Since: instant("2026-11-20T00:00:00Z")},
			[]string{"schedule: never fires: no slot comes after 2026-11-20T00:00:00Z; the years it names are over"},
		},
		"zone":              {Definition{Timezone: "Asia/Daka"}, []string{`timezone: unknown time zone "Asia/Daka"; did you mean Asia/Dhaka?`}},
		"zone, lower case":  {Definition{Timezone: "asia/dhaka"}, []string{`timezone: unknown time zone "asia/dhaka"; did you mean Asia/Dhaka?`}},
		"zone, only a city": {Definition{Timezone: "New York"}, []string{`timezone: unknown time zone "New York"; did you mean America/New_York?`}},
		"zone, short":       {Definition{Timezone: "PST"}, []string{`timezone: unknown time zone "PST"; did you mean America/Los_Angeles?`}},
		"zone, nothing":     {Definition{Timezone: "Mars/Olympus"}, []string{`timezone: unknown time zone "Mars/Olympus"; write an IANA name such as Asia/Dhaka, or UTC`}},
		"zone, Local":       {Definition{Timezone: "Local"}, []string{`timezone: time zone "Local" differs from machine to machine; name the zone, such as Asia/Dhaka, or UTC`}},
		"zone, a path":      {Definition{Timezone: "../../etc/passwd"}, []string{`timezone: unknown time zone "../../etc/passwd"; write an IANA name such as Asia/Dhaka, or UTC`}},
		"zone, long":        {Definition{Timezone: strings.Repeat("a", 1<<20)}, []string{`timezone: time zone "` + strings.Repeat("a", 32) + `"… is too long; write an IANA name such as Asia/Dhaka, or UTC`}},
		"two kinds":         {Definition{Every: time.Hour, Cron: []string{"@daily"}}, []string{"schedule: give one of schedule, every, after and at, not schedule and every together"}},
		"negative":          {Definition{Every: -time.Hour}, []string{"every: -1h0m0s is negative; write an interval such as 90s"}},
		"fraction":          {Definition{After: time.Second + time.Microsecond}, []string{"after: 1.000001s is not a whole number of milliseconds; write 1s"}},
		"empty window": {
			Definition{Every: time.Hour, From: instant("2027-01-01T00:00:00Z"), Until: instant("2027-01-01T00:00:00Z")},
			[]string{"active.until: 2027-01-01T00:00:00Z is not after active.from (2027-01-01T00:00:00Z), so nothing can fire; swap them, or leave one open"},
		},
		"no slot in the window": {
			Definition{Cron: []string{"@yearly"}, From: instant("2027-01-02T00:00:00Z"), Until: instant("2027-12-31T00:00:00Z")},
			[]string{"schedule: never fires: no slot lies in the active window; widen it"},
		},
		"window is over": {
			Definition{Every: time.Hour, Until: instant("2026-01-01T00:00:00Z"), Anchor: instant("2026-11-20T00:00:00Z")},
			[]string{"every: never fires: the active window ended at 2026-01-01T00:00:00Z; move active.until"},
		},
		"at outside the window": {
			Definition{At: instant("2026-01-01T00:00:00Z"), From: instant("2026-11-20T00:00:00Z")},
			[]string{"at: never fires: its instant lies outside the active window; move one of them"},
		},
		"at excluded": {
			Definition{At: instant("2026-01-01T00:00:00Z"), Exclude: []Exclusion{{Cron: "* * 1 1 *"}}},
			[]string{"at: never fires: its instant is excluded; move it or drop the exclusion"},
		},
		"at too late":         {Definition{At: instant("2200-01-01T00:00:00Z")}, []string{"at: 2200-01-01T00:00:00Z is beyond the year 2199, until which schedules are kept"}},
		"everything excluded": {Definition{Cron: []string{"0 3 * * *"}, Exclude: []Exclusion{{Cron: "* 3 * * *"}}}, []string{"schedule: never fires: every slot is excluded; drop an exclusion"}},
		"excluded by turns": {
			Definition{Cron: []string{"* * * * * *"}, Exclude: []Exclusion{{Cron: "*/2 * * * *"}, {Cron: "1-59/2 * * * *"}}},
			[]string{"schedule: never fires: every slot is excluded; drop an exclusion"},
		},
		"after, excluded": {
			Definition{After: time.Second, Anchor: instant("2026-01-01T00:00:00Z"), Exclude: []Exclusion{{From: instant("2020-01-01T00:00:00Z"), To: instant("2199-12-31T23:59:59.9Z")}}},
			[]string{"after: never fires: every slot is excluded; drop an exclusion"},
		},
		"exclusions": {
			Definition{Exclude: []Exclusion{
				{}, {From: instant("2026-01-01T00:00:00Z")}, {To: instant("2026-01-01T00:00:00Z")},
				{From: instant("2026-01-02T00:00:00Z"), To: instant("2026-01-01T00:00:00Z")},
				{Cron: "@daily", To: instant("2026-01-01T00:00:00Z")}, {Cron: "@every 1h"}, {Cron: "0 0 30 2 *"},
			}},
			[]string{
				`exclude[0]: is empty; give an expression such as "* * 25 12 *", or from and to`,
				"exclude[1].to: is missing; give the instant at which the exclusion ends, or use active.until for no end",
				"exclude[2].from: is missing; give the instant at which the exclusion begins",
				"exclude[3].to: 2026-01-01T00:00:00Z is not after from (2026-01-02T00:00:00Z); swap them",
				"exclude[4]: give an expression or from and to, not both",
				"exclude[5]: @every names no time of the clock; write an expression with fields, or from and to",
				"exclude[6]: never fires: 30 February never comes",
			},
		},
		"too many": {
			Definition{Cron: slices.Repeat([]string{"@daily"}, 33)},
			[]string{"schedule: has 33 expressions of 198 bytes; at most 32 of together 2048 bytes make a schedule: use ranges and steps, or several jobs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(test.definition)
			var faults Errors
			if !errors.As(err, &faults) {
				t.Fatalf("Compile: %v, want faults", err)
			}
			var got []string
			for _, fault := range faults {
				got = append(got, fault.Error())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestHashIsStableAndSpreads(t *testing.T) {
	resolved := func(expression, key string) string {
		return mustCompile(t, Definition{Cron: []string{expression}, Key: key}).expressions[0].canonical
	}
	// What a job's H is must never change between releases: its runs would move.
	for _, test := range []struct{ expression, key, want string }{
		{"H H * * *", "team/nightly", "0 2 7 * * * *"},
		{"H H * * *", "team/nightly-2", "0 42 15 * * * *"},
		{"H(0-29) 3 H H H", "team/nightly", "0 2 3 13 3 6 *"},
		{"H/15 * * * *", "team/nightly", "0 2-59/15 * * * * *"},
		{"H H(0-29)/10 * * * *", "team/nightly", "7 2-29/10 * * * * *"},
	} {
		if got := resolved(test.expression, test.key); got != test.want {
			t.Errorf("%s of %s is %s, want %s", test.expression, test.key, got, test.want)
		}
	}
	minutes, days := map[string]int{}, map[string]int{}
	for i := range 6000 {
		fields := strings.Fields(resolved("H 0 H * *", "team/job-"+time.Duration(i).String()))
		minutes[fields[1]]++
		days[fields[3]]++
	}
	if len(minutes) != 60 || len(days) != 28 {
		t.Errorf("%d minutes and %d days are used, want 60 and 28", len(minutes), len(days))
	}
	for minute, count := range minutes {
		if count < 50 || count > 160 { // 100 expected
			t.Errorf("minute %s holds %d of 6000 jobs", minute, count)
		}
	}
}
