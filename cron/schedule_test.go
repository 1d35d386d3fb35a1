package cron

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSlots(t *testing.T) {
	for name, test := range map[string]struct {
		definition Definition
		after      string
		want       []string
	}{
		"five fields":             {Definition{Cron: []string{"30 3 * * *"}}, "2026-01-01T03:30:00Z", []string{"2026-01-02T03:30:00Z"}},
		"strictly after":          {Definition{Cron: []string{"30 3 * * *"}}, "2026-01-01T03:29:59.999999999Z", []string{"2026-01-01T03:30:00Z"}},
		"fraction after":          {Definition{Cron: []string{"30 3 * * *"}}, "2026-01-01T03:30:00.000000001Z", []string{"2026-01-02T03:30:00Z"}},
		"six fields":              {Definition{Cron: []string{"15,45 0 3 * * *"}}, "2026-01-01T03:00:15Z", []string{"2026-01-01T03:00:45Z", "2026-01-02T03:00:15Z"}},
		"six fields with a year":  {Definition{Cron: []string{"0 3 1 1 * 2027"}}, "2026-01-01T03:00:15Z", []string{"2027-01-01T03:00:00Z", ""}},
		"seven fields":            {Definition{Cron: []string{"5 0 3 1 1 * 2027-2030/2"}}, "2026-01-01T00:00:00Z", []string{"2027-01-01T03:00:05Z", "2029-01-01T03:00:05Z", ""}},
		"every other year":        {Definition{Cron: []string{"0 0 0 1 1 * */2"}}, "2026-01-01T00:00:00Z", []string{"2028-01-01T00:00:00Z", "2030-01-01T00:00:00Z"}},
		"tag":                     {Definition{Cron: []string{"@Weekly"}}, "2026-11-20T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		"midnight":                {Definition{Cron: []string{"@midnight"}}, "2026-11-20T00:00:00Z", []string{"2026-11-21T00:00:00Z"}},
		"every second tag":        {Definition{Cron: []string{"@everysecond"}}, "2026-11-20T00:00:00Z", []string{"2026-11-20T00:00:01Z"}},
		"names":                   {Definition{Cron: []string{"0 0 * jan-feb mon"}}, "2026-11-20T00:00:00Z", []string{"2027-01-04T00:00:00Z"}},
		"Friday to Sunday":        {Definition{Cron: []string{"0 0 * * FRI-SUN"}}, "2026-11-19T00:00:00Z", []string{"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "2026-11-27T00:00:00Z"}},
		"seven is Sunday":         {Definition{Cron: []string{"0 0 * * 7"}}, "2026-11-20T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		"day or weekday":          {Definition{Cron: []string{"0 0 13 * 5"}}, "2026-11-10T00:00:00Z", []string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"}},
		"starred day and weekday": {Definition{Cron: []string{"0 0 */2 * 5"}}, "2026-11-10T00:00:00Z", []string{"2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z"}},
		"leap day":                {Definition{Cron: []string{"0 0 29 2 *"}}, "2096-02-29T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		"Sunday the leap day":     {Definition{Cron: []string{"0 0 29 2 */7"}}, "2072-11-10T00:00:00Z", []string{"2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"}},
		"last day":                {Definition{Cron: []string{"0 0 L * *"}}, "2028-01-31T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z", "2028-04-30T00:00:00Z"}},
		"weekday nearest":         {Definition{Cron: []string{"0 0 15W * *"}}, "2026-08-01T00:00:00Z", []string{"2026-08-14T00:00:00Z", "2026-09-15T00:00:00Z", "2026-10-15T00:00:00Z", "2026-11-16T00:00:00Z"}},
		"nearest stays in month":  {Definition{Cron: []string{"0 0 1W * *"}}, "2026-07-31T00:00:00Z", []string{"2026-08-03T00:00:00Z"}},
		"last Friday":             {Definition{Cron: []string{"0 0 * * FRIL"}}, "2026-11-20T00:00:00Z", []string{"2026-11-27T00:00:00Z", "2026-12-25T00:00:00Z"}},
		"second Monday":           {Definition{Cron: []string{"0 0 * * MON#2"}}, "2026-11-20T00:00:00Z", []string{"2026-12-14T00:00:00Z"}},
		"fifth Sunday":            {Definition{Cron: []string{"0 0 * * 7#5"}}, "2026-11-20T00:00:00Z", []string{"2026-11-29T00:00:00Z", "2027-01-31T00:00:00Z"}},
		"L and plain day":         {Definition{Cron: []string{"0 0 1,L * *"}}, "2026-11-20T00:00:00Z", []string{"2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-31T00:00:00Z"}},
		"union":                   {Definition{Cron: []string{"0 3 * * *", "0 */3 * * *", "@every 4h"}}, "2026-11-20T00:00:00Z", []string{"2026-11-20T03:00:00Z", "2026-11-20T04:00:00Z", "2026-11-20T06:00:00Z", "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z", "2026-11-20T12:00:00Z"}},
		"every from the epoch":    {Definition{Every: 90 * time.Second}, "2026-11-20T00:00:00Z", []string{"2026-11-20T00:01:30Z", "2026-11-20T00:03:00Z"}},
		"every from the anchor":   {Definition{Every: 90 * time.Second, Anchor: at(t, "2026-11-20T00:00:07.0129Z")}, "2026-11-20T00:00:00Z", []string{"2026-11-20T00:00:07.012Z", "2026-11-20T00:01:37.012Z"}},
		"every before the anchor": {Definition{Every: time.Minute, Anchor: at(t, "2026-11-20T00:00:07Z")}, "2026-11-19T00:00:00Z", []string{"2026-11-19T00:00:07Z"}},
		"tag every":               {Definition{Cron: []string{"@every 1h30m"}, Anchor: at(t, "2026-11-20T00:10:00Z")}, "2026-11-20T00:10:00Z", []string{"2026-11-20T01:40:00Z"}},
		"after":                   {Definition{After: 10 * time.Minute}, "2026-11-20T00:00:00.0004Z", []string{"2026-11-20T00:10:00.001Z", "2026-11-20T00:20:00.001Z"}},
		"after waits for window":  {Definition{After: 10 * time.Minute, From: at(t, "2027-01-01T00:00:00Z")}, "2026-11-20T00:00:00Z", []string{"2027-01-01T00:00:00Z", "2027-01-01T00:10:00Z"}},
		"at":                      {Definition{At: at(t, "2026-12-31T23:59:59+06:00")}, "2026-11-20T00:00:00Z", []string{"2026-12-31T17:59:59Z", ""}},
		"manual":                  {Definition{}, "2026-11-20T00:00:00Z", []string{""}},
		"window": {
			Definition{Cron: []string{"0 0 * * *"}, From: at(t, "2026-12-01T00:00:00Z"), Until: at(t, "2026-12-03T00:00:00Z")},
			"2026-11-20T00:00:00Z", []string{"2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z", ""},
		},
		"nothing before 1970":   {Definition{Cron: []string{"0 0 * * *"}}, "0001-01-01T00:00:00Z", []string{"1970-01-01T00:00:00Z"}},
		"nothing after 2199":    {Definition{Cron: []string{"0 0 * * *"}}, "2199-12-31T00:00:00Z", []string{""}},
		"nothing in year 9999":  {Definition{Every: time.Second}, "9999-12-31T00:00:00Z", []string{""}},
		"Dhaka":                 {Definition{Cron: []string{"0 3 * * *"}, Timezone: "Asia/Dhaka"}, "2026-11-20T00:00:00Z", []string{"2026-11-20T21:00:00Z"}},
		"zone moves the day":    {Definition{Cron: []string{"0 3 1 * *"}, Timezone: "Pacific/Kiritimati"}, "2026-11-20T00:00:00Z", []string{"2026-11-30T13:00:00Z"}},
		"zone beyond its table": {Definition{Cron: []string{"0 3 1 7 *"}, Timezone: "Europe/Berlin"}, "2150-01-01T00:00:00Z", []string{"2150-07-01T01:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, test.definition)
			after := at(t, test.after)
			for _, want := range test.want {
				got, ok := s.Next(after)
				if want == "" {
					if ok {
						t.Fatalf("Next(%s) = %s, want never", after, got)
					}
					return
				}
				if !ok || !got.Equal(at(t, want)) || got.Location() != time.UTC {
					t.Fatalf("Next(%s) = %s, %t, want %s", after, got, ok, want)
				}
				after = got
			}
		})
	}
}

func TestSlotsWhenClocksChange(t *testing.T) {
	for name, test := range map[string]struct {
		zone       string
		expression string
		day        string // from where 23 hours are looked at
		want       []string
	}{
		"fixed hour in a gap":                    {"America/New_York", "30 2 * * *", "2026-03-08T00:00:00-05:00", []string{"03:00-04:00"}},
		"several slots in a gap":                 {"America/New_York", "0,15,30,45 2 * * *", "2026-03-08T00:00:00-05:00", []string{"03:00-04:00"}},
		"a gap and the hour after it":            {"America/New_York", "0 2,3 * * *", "2026-03-08T00:00:00-05:00", []string{"03:00-04:00"}},
		"a wildcard minute in a gap":             {"America/New_York", "*/30 2,3 * * *", "2026-03-08T00:00:00-05:00", []string{"03:00-04:00", "03:30-04:00"}},
		"every hour over a gap":                  {"America/New_York", "0 * * * *", "2026-03-08T00:00:00-05:00", hours("00:00-05:00 01:00-05:00", 3, 23, "-04:00")},
		"stepped hour over a gap":                {"America/New_York", "30 */2 * * *", "2026-03-08T00:00:00-05:00", strings.Fields("00:30-05:00 04:30-04:00 06:30-04:00 08:30-04:00 10:30-04:00 12:30-04:00 14:30-04:00 16:30-04:00 18:30-04:00 20:30-04:00 22:30-04:00")},
		"stepped range over a gap":               {"America/New_York", "30 0-4/2 * * *", "2026-03-08T00:00:00-05:00", strings.Fields("00:30-05:00 04:30-04:00")},
		"range over a gap is fixed":              {"America/New_York", "30 1-3 * * *", "2026-03-08T00:00:00-05:00", strings.Fields("01:30-05:00 03:00-04:00 03:30-04:00")},
		"hashed step over a gap is elapsed":      {"America/New_York", "30 H(2-2)/1 * * *", "2026-03-08T00:00:00-05:00", nil},
		"fixed hour twice":                       {"America/New_York", "30 1 * * *", "2026-11-01T00:00:00-04:00", []string{"01:30-04:00"}},
		"wildcard minute of a fixed hour twice":  {"America/New_York", "*/30 1 * * *", "2026-11-01T00:00:00-04:00", strings.Fields("01:00-04:00 01:30-04:00")},
		"range twice":                            {"America/New_York", "0 0-2 * * *", "2026-11-01T00:00:00-04:00", strings.Fields("00:00-04:00 01:00-04:00 02:00-05:00")},
		"every hour twice":                       {"America/New_York", "0 * * * *", "2026-11-01T00:00:00-04:00", hours("00:00-04:00 01:00-04:00 01:00-05:00", 2, 21, "-05:00")},
		"list with a step is elapsed":            {"America/New_York", "30 1,0/12 * * *", "2026-11-01T00:00:00-04:00", strings.Fields("00:30-04:00 01:30-04:00 01:30-05:00 12:30-05:00")},
		"gap of half an hour":                    {"Australia/Lord_Howe", "15 2 * * *", "2026-10-04T00:00:00+10:30", []string{"02:30+11:00"}},
		"outside the gap of half an hour":        {"Australia/Lord_Howe", "45 2 * * *", "2026-10-04T00:00:00+10:30", []string{"02:45+11:00"}},
		"half an hour twice, fixed":              {"Australia/Lord_Howe", "45 1 * * *", "2026-04-05T00:00:00+11:00", []string{"01:45+11:00"}},
		"half an hour twice, elapsed":            {"Australia/Lord_Howe", "15,45 0-2/1 * * *", "2026-04-05T00:00:00+11:00", strings.Fields("00:15+11:00 00:45+11:00 01:15+11:00 01:45+11:00 01:45+10:30 02:15+10:30 02:45+10:30")},
		"gap of two hours":                       {"Antarctica/Troll", "30 1,2 * * *", "2026-03-29T00:00:00+00:00", []string{"03:00+02:00"}},
		"two hours twice":                        {"Antarctica/Troll", "30 1,2 * * *", "2026-10-25T00:00:00+02:00", strings.Fields("01:30+02:00 02:30+02:00")},
		"two hours twice, elapsed":               {"Antarctica/Troll", "30 1-2/1 * * *", "2026-10-25T00:00:00+02:00", strings.Fields("01:30+02:00 02:30+02:00 01:30+00:00 02:30+00:00")},
		"midnight in a gap":                      {"America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00:00-03:00", []string{"01:00-02:00"}},
		"midnight in a gap, Beirut":              {"Asia/Beirut", "30 0 * * *", "2026-03-28T12:00:00+02:00", []string{"01:00+03:00"}},
		"midnight twice":                         {"America/Sao_Paulo", "30 23 * * *", "2018-02-17T12:00:00-02:00", []string{"23:30-02:00"}},
		"a day that was skipped":                 {"Pacific/Apia", "0 3 30 12 *", "2011-12-29T12:00:00-10:00", []string{"00:00+14:00"}},
		"a day that was skipped, daily":          {"Pacific/Apia", "0 3 * * *", "2011-12-29T12:00:00-10:00", strings.Fields("00:00+14:00 03:00+14:00")},
		"a day that was skipped, every six":      {"Pacific/Apia", "0 */6 * * *", "2011-12-29T12:00:01-10:00", strings.Fields("18:00-10:00 00:00+14:00 06:00+14:00")},
		"fixed hour in a gap, with seconds":      {"Europe/Berlin", "*/20 59 2 * * *", "2026-03-29T00:00:00+01:00", []string{"03:00+02:00"}},
		"a fixed hour next to the repeated hour": {"Europe/Berlin", "0 3 * * *", "2026-10-25T00:00:00+02:00", []string{"03:00+01:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, Definition{Cron: []string{test.expression}, Timezone: test.zone})
			from := at(t, test.day).Add(-1)
			var got []string
			for slot := range s.Between(from, from.Add(23*time.Hour)) {
				got = append(got, slot.In(s.Location()).Format("15:04-07:00"))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s in %s: got %v, want %v", test.expression, test.zone, got, test.want)
			}
		})
	}
}

// hours lists each full hour from one to another behind those that are given.
func hours(before string, from, to int, offset string) []string {
	list := strings.Fields(before)
	for hour := from; hour <= to; hour++ {
		list = append(list, time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC).Format("15:04")+offset)
	}
	return list
}

func TestEveryIsNotBentByClocks(t *testing.T) {
	s := mustCompile(t, Definition{Every: 25 * time.Minute, Timezone: "America/New_York", Anchor: at(t, "2026-10-31T00:00:00Z")})
	previous := at(t, "2026-10-31T00:00:00Z")
	for slot := range s.Between(previous, previous.Add(48*time.Hour)) {
		if slot.Sub(previous) != 25*time.Minute {
			t.Fatalf("%s is %s after %s", slot, slot.Sub(previous), previous)
		}
		previous = slot
	}
}

func TestKinds(t *testing.T) {
	for want, d := range map[Kind]Definition{
		KindManual: {},
		KindCron:   {Cron: []string{"@every 90s"}},
		KindEvery:  {Every: time.Minute},
		KindAfter:  {After: time.Minute},
		KindAt:     {At: at(t, "2001-01-01T00:00:00Z")}, // past, and yet no fault of its own
	} {
		if got := mustCompile(t, d).Kind(); got != want {
			t.Errorf("Kind of %+v = %s, want %s", d, got, want)
		}
	}
	if text := Kind(0).String(); text != "Kind(0)" {
		t.Errorf("the invalid kind is called %s", text)
	}
}

func TestErrorsCanBeTakenApart(t *testing.T) {
	_, err := Compile(Definition{Cron: []string{"61 * * * *", "0 0 30 2 *"}, Timezone: "Asia/Daka"})
	var all Errors
	var one *Error
	if !errors.As(err, &all) || len(all) != 3 || !errors.As(err, &one) || one.Field != "timezone" {
		t.Fatalf("Compile: %#v", err)
	}
}
