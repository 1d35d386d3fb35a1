package mongo

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// TestEveryFieldIsKept fills every field of what is stored, whatever fields there are, and wants all of them back.
func TestEveryFieldIsKept(t *testing.T) {
	t.Run("run", func(t *testing.T) {
		keeps(t, func(r *engine.Run) (any, error) { return writeRun(r, 0) }, runDocument.value)
	})
	t.Run("scheduled task", func(t *testing.T) {
		keeps(t, func(v *engine.ScheduledTask) (any, error) { return writeTask(v, 0), nil }, taskDocument.value)
	})
	t.Run("slot range", func(t *testing.T) {
		keeps(t, func(v *engine.SlotRange) (any, error) { return newSlotDocument(v), nil }, slotDocument.value)
	})
	t.Run("dead letter", func(t *testing.T) {
		keeps(t, func(v *engine.DeadLetter) (any, error) { return newLetterDocument(v), nil }, letterDocument.value)
	})
	t.Run("command", func(t *testing.T) {
		keeps(t, func(v *engine.Command) (any, error) { return newCommandDocument(v) }, commandDocument.value)
	})
	t.Run("binary", func(t *testing.T) {
		keeps(t, func(v *engine.Binary) (any, error) { return newBinaryDocument(v), nil }, binaryDocument.value)
	})
	t.Run("job", func(t *testing.T) {
		jobs := &definitions[spec.Job]{write: newDefinition, read: readDefinition}
		keeps(t, func(v *engine.Job) (any, error) { return jobs.document(v) }, jobs.value)
	})
	t.Run("DAG", func(t *testing.T) {
		dags := &definitions[spec.DAG]{write: newDAGDefinition, read: readDAGDefinition}
		keeps(t, func(v *engine.DAG) (any, error) { return dags.document(v) }, dags.value)
	})
	t.Run("wave", func(t *testing.T) {
		keeps(t, func(v *engine.Wave) (any, error) { return newWaveDocument(v) }, waveDocument.value)
	})
}

// TestEntriesOfTheJournalAreInTheirForm fills every field of an entry, and wants the bytes that its declaration has.
func TestEntriesOfTheJournalAreInTheirForm(t *testing.T) {
	counter := 0
	var filled entryDocument
	fill(reflect.ValueOf(&filled).Elem(), &counter)
	for _, d := range []entryDocument{filled, {}} {
		want, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.raw(); !bytes.Equal(got, want) {
			t.Errorf("an entry is\n%s\nwant\n%s", got, bson.Raw(want))
		}
	}
}

func keeps[T any, D any](t *testing.T, write func(*T) (any, error), read func(D) (T, error)) {
	for _, filled := range []bool{true, false} {
		var want T
		if filled {
			counter := 0
			fill(reflect.ValueOf(&want).Elem(), &counter)
		}
		document, err := write(&want)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := bson.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		var found D
		if err := bson.Unmarshal(raw, &found); err != nil {
			t.Fatal(err)
		}
		if again, err := bson.Marshal(found); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("filled %v: it is not in the form that is declared:\n%s\nwant:\n%s\n%v", filled, bson.Raw(raw), bson.Raw(again), err)
		}
		got, err := read(found)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("filled %v: not what was written (-want +got):\n%s\nstored:\n%s", filled, diff, bson.Raw(raw))
		}
	}
}

// fill gives every field a value of its own that is not its zero.
func fill(v reflect.Value, counter *int) {
	*counter++
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.UnixMilli(1_800_000_000_000 + int64(*counter)).UTC()
		return
	case *engine.Status:
		*value = engine.Statuses()[*counter%len(engine.Statuses())]
		return
	case *bson.Raw:
		*value = writeTask(&engine.ScheduledTask{ID: fmt.Sprint("task ", *counter)}, int64(*counter))
		return
	case *[]byte:
		*value = fmt.Appendf(nil, "bytes %d\x00\xff", *counter)
		return
	case *spec.Strings:
		*value = spec.Strings{fmt.Sprint("a", *counter), "b"}
		return
	case *[]spec.Exclusion:
		*value = []spec.Exclusion{{Cron: "* * 24 12 *"}, {From: time.Unix(1, 0).UTC(), To: time.Unix(2, 0).UTC()}}
		return
	}
	if v.Type() == reflect.TypeFor[engine.Run]() {
		defer func() {
			run := v.Addr().Interface().(*engine.Run)
			run.StartedAt = run.StartedAt.Add(123 * time.Microsecond)
			run.Attempts[0].ClaimedAt = run.Attempts[0].ClaimedAt.Add(456 * time.Microsecond)
		}()
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), counter)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), counter)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // JSON
			v.SetBytes(fmt.Appendf(nil, `{"z":%d,"a":[1.5,"<b>",null,true,-3]}`, *counter))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), counter)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"plain", "dotted.key", "$where", "100%", "%2E", ""} {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value, counter)
			v.SetMapIndex(reflect.ValueOf(key), value)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d «ü» 世界", *counter))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*counter))
	case reflect.Uint64:
		v.SetUint(1<<63 + uint64(*counter))
	case reflect.Float64:
		v.SetFloat(float64(*counter) + 0.125)
	default:
		panic("no value for a " + v.Type().String()) // a new kind of field needs a line here
	}
}
