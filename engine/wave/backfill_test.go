package wave

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

func dagOf(t *testing.T, text string) *engine.DAG {
	t.Helper()
	definition, problems := spec.DecodeDAG("etl", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return &engine.DAG{UID: "u", Namespace: "default", Name: "etl", Spec: *definition, CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func TestBackfillWavesTakeOneSlotOfEachRoot(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	at := func(clock string) time.Time {
		var hour, minute int
		if _, err := fmt.Sscanf(clock, "%d:%d", &hour, &minute); err != nil {
			t.Fatal(err)
		}
		return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	}
	const two = `{"tasks":{"orders":{"binary":"b","schedule":"0 * * * *"},"rates":{"binary":"b","schedule":"*/30 * * * *"},` +
		`"join":{"binary":"b","needs":["orders","rates"]}}}`
	for name, c := range map[string]struct {
		dag           string
		from, to, now string
		want          string
	}{
		"two rhythms": {two, "10:00", "13:00", "23:00",
			"orders=10:00 rates=10:00; orders=11:00 rates=10:30; orders=12:00 rates=11:30"},
		"begins between the slots":        {two, "10:05", "11:01", "23:00", "orders=11:00 rates=10:30"},
		"a slot outside makes no wave":    {two, "10:05", "11:00", "23:00", ""},
		"nothing is made before its time": {two, "10:00", "13:00", "11:59", "orders=10:00 rates=10:00; orders=11:00 rates=10:30"},
		"by hand":                         {`{"tasks":{"a":{"binary":"b"}}}`, "10:00", "13:00", "23:00", ""},
		"excluded slots are passed over": {`{"schedule":"0 * * * *","exclude":["0 11 * * *"],"tasks":{"a":{"binary":"b"}}}`, "10:00",
			"13:00", "23:00", "a=10:00; a=12:00"},
		"a root whose schedule is over is not waited for": {
			`{"tasks":{"a":{"binary":"b","schedule":"0 * * * *"},"old":{"binary":"b","schedule":"0 0 9 20 11 * 2026"}}}`,
			"8:00", "12:00", "23:00", "a=8:00 old=9:00; a=10:00; a=11:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			waves, more, err := Backfill(dagOf(t, c.dag), at(c.from), at(c.to), at(c.now))
			if err != nil || more {
				t.Fatal(more, err)
			}
			var got []string
			for _, w := range waves {
				var slots []string
				for i := range dagOf(t, c.dag).Spec.Tasks {
					task := dagOf(t, c.dag).Spec.Tasks[i].Name
					if slot, ok := w.Slots[task]; ok {
						slots = append(slots, task+"="+slot.Format("15:04"))
						if slot.Before(w.Slot) {
							t.Errorf("slot %s of %s is before the first, %s", slot, task, w.Slot)
						}
					}
				}
				got = append(got, strings.ReplaceAll(strings.Join(slots, " "), "=0", "="))
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
	_, more, err := Backfill(dagOf(t, two), day.AddDate(-1, 0, 0), day, day)
	if !more || err != nil {
		t.Errorf("a year of hours is not more than %d waves: %v", engine.MaxBackfill, err)
	}
}
