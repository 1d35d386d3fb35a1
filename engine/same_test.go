package engine

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// Every field counts: a field added to Run, Attempt, … without a thought for SameRun turns this red.
func TestSameRunSeesEveryField(t *testing.T) {
	seen := 0
	var walk func(path string, change func(r *Run) reflect.Value, kind reflect.Type)
	walk = func(path string, at func(r *Run) reflect.Value, kind reflect.Type) {
		if kind.Kind() == reflect.Struct && kind != reflect.TypeFor[time.Time]() {
			for i := range kind.NumField() {
				walk(path+"."+kind.Field(i).Name, func(r *Run) reflect.Value { return at(r).Field(i) }, kind.Field(i).Type)
			}
			return
		}
		if kind.Kind() == reflect.Pointer {
			a, b := filled(), filled()
			at(&b).SetZero()
			if SameRun(a, b) || SameRun(b, a) {
				t.Errorf("%s: nil and something are the same", path)
			}
			walk(path, func(r *Run) reflect.Value { return at(r).Elem() }, kind.Elem())
			return
		}
		if kind == reflect.TypeFor[[]Attempt]() || kind == reflect.TypeFor[[]Artifact]() {
			a, b := filled(), filled()
			at(&b).SetZero()
			if SameRun(a, b) {
				t.Errorf("%s: none and some are the same", path)
			}
			walk(path+"[0]", func(r *Run) reflect.Value { return at(r).Index(0) }, kind.Elem())
			return
		}
		a, b := filled(), filled()
		disturb(t, path, at(&b))
		if SameRun(a, b) || SameRun(b, a) {
			t.Errorf("%s makes no difference", path)
		}
		seen++
	}
	walk("Run", func(r *Run) reflect.Value { return reflect.ValueOf(r).Elem() }, reflect.TypeFor[Run]())
	if !SameRun(filled(), filled()) {
		t.Error("equal runs differ")
	}
	if seen < 50 {
		t.Errorf("looked at %d fields only", seen)
	}
}

func TestSameRunLooksAtMillisecondsAndNotAtZones(t *testing.T) {
	a, b := filled(), filled()
	b.CreatedAt = b.CreatedAt.Add(300 * time.Microsecond).In(time.FixedZone("there", 7200))
	b.Attempts[0].StartedAt = b.Attempts[0].StartedAt.Add(999 * time.Nanosecond)
	if !SameRun(a, b) {
		t.Error("a write differs from itself as a store gives it back")
	}
	a, b = Run{ID: "a-k"}, Run{ID: "a-k", Payload: json.RawMessage{}, Args: map[string]string{}, Attempts: []Attempt{}}
	if !SameRun(a, b) {
		t.Error("nil and empty differ")
	}
}

func TestSameTaskSeesEveryField(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	task := ScheduledTask{ID: "a", Shard: 1, Slot: at, RunAt: at, Generation: 1, Revision: 1, Namespace: "n", Job: "j"}
	if !SameTask(task, task) {
		t.Error("equal tasks differ")
	}
	for i := range reflect.TypeFor[ScheduledTask]().NumField() {
		switch reflect.TypeFor[ScheduledTask]().Field(i).Name {
		case "Accounted", "Since", "Taken":
			continue // only decisions have them, and those are not compared
		}
		other := task
		disturb(t, "task", reflect.ValueOf(&other).Elem().Field(i))
		if SameTask(task, other) {
			t.Errorf("%s makes no difference", reflect.TypeFor[ScheduledTask]().Field(i).Name)
		}
	}
	for i := range reflect.TypeFor[Noting]().NumField() {
		one, other := task, task
		one.Noting, other.Noting = &Noting{RunAt: at}, &Noting{RunAt: at}
		disturb(t, "noting", reflect.ValueOf(other.Noting).Elem().Field(i))
		if SameTask(one, other) {
			t.Errorf("%s of what is noted makes no difference", reflect.TypeFor[Noting]().Field(i).Name)
		}
	}
}

func TestSameWaveSeesEveryField(t *testing.T) {
	var wave Wave
	var walk func(path string, at func(*Wave) reflect.Value, kind reflect.Type)
	walk = func(path string, at func(*Wave) reflect.Value, kind reflect.Type) {
		if kind.Kind() == reflect.Struct && kind != reflect.TypeFor[time.Time]() {
			for i := range kind.NumField() {
				walk(path+"."+kind.Field(i).Name, func(w *Wave) reflect.Value { return at(w).Field(i) }, kind.Field(i).Type)
			}
			return
		}
		other := wave
		disturb(t, path, at(&other))
		if SameWave(wave, other) || SameWave(other, wave) {
			t.Errorf("%s makes no difference", path)
		}
	}
	walk("Wave", func(w *Wave) reflect.Value { return reflect.ValueOf(w).Elem() }, reflect.TypeFor[Wave]())
	if !SameWave(wave, wave) {
		t.Error("equal waves differ")
	}
}

func disturb(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = x.Add(time.Second)
		return
	case *json.RawMessage:
		*x = json.RawMessage(`{"other":1}`)
		return
	case *[]byte:
		*x = []byte("other")
		return
	case *map[string]string:
		*x = map[string]string{"other": "1"}
		return
	case **Noting:
		*x = &Noting{RunAt: time.UnixMilli(1)}
		return
	case *[]SlotRange:
		*x = append(*x, SlotRange{ID: "other"})
		return
	case *[]WaveRest:
		*x = append(*x, WaveRest{From: time.UnixMilli(1), To: time.UnixMilli(2)})
		return
	case *map[string]time.Time:
		*x = map[string]time.Time{"other": time.UnixMilli(1)}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	default:
		t.Fatalf("%s has kind %s: teach this test about it", path, v.Kind())
	}
}

func filled() Run {
	code, item, at := 1, 1, time.UnixMilli(1_700_000_000_000)
	return Run{
		Item: &item, GivenUp: &SlotRange{ID: "a-s1", From: at, To: at, Count: 1}, Artifacts: []Artifact{{Name: "a", Size: 1, SHA256: "aa"}},
		ID: "a-k1", Payload: json.RawMessage(`{}`), Args: map[string]string{"K": "V"}, CreatedAt: at,
		Progress: &Progress{Fraction: 0.5, At: at},
		Attempts: []Attempt{{N: 1, StartedAt: at, ExitCode: &code, Usage: &Usage{CPU: 1}, Output: &Output{Size: 1, Tail: []byte("x")}}},
	}
}
