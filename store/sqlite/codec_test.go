package sqlite

import (
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tinylib/msgp/msgp"

	"github.com/tidewheel/tidewheel/engine"
)

// Every field comes back: a field added to Run, Attempt, Wave, … and forgotten here turns this red.
func TestDocumentsKeepEveryField(t *testing.T) {
	t.Run("run", func(t *testing.T) {
		keepsEveryField(t, func(r *engine.Run) []byte { return encodeRun(nil, r) }, decodeRun)
	})
	t.Run("wave", func(t *testing.T) { keepsEveryField(t, encodeWave, decodeWave) })
}

func keepsEveryField[T any](t *testing.T, write func(*T) []byte, read func([]byte) (T, error)) {
	next := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		next++
		switch v.Addr().Interface().(type) {
		case *time.Time:
			v.Set(reflect.ValueOf(time.UnixMicro(1_700_000_000_000_000 + next*1_000_001).UTC()))
			return
		case *json.RawMessage:
			v.SetBytes([]byte(`{ "a" : 1 }`))
			return
		case *engine.Status:
			v.SetUint(uint64(1 + next%11))
			return
		}
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("text " + string(rune('a'+next%26)))
		case reflect.Int, reflect.Int64:
			v.SetInt(next - 40)
		case reflect.Uint8:
			v.SetUint(uint64(next % 200))
		case reflect.Uint64:
			v.SetUint(1<<63 + uint64(next))
		case reflect.Float64:
			v.SetFloat(1 / float64(next))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			for _, key := range []string{"k", "", "z"} {
				value := reflect.New(v.Type().Elem()).Elem()
				if key != "z" { // a value that is zero is there, too
					fill(value)
				}
				v.SetMapIndex(reflect.ValueOf(key), value)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		default:
			t.Fatalf("%s: teach this test about it", v.Type())
		}
	}
	var want, zero T
	fill(reflect.ValueOf(&want).Elem())
	got, err := read(write(&want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-written +read):\n%s", diff)
	}
	later := withUnknownFields(t, write(&want))
	if got, err := read(later); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("a document with unknown fields is %+v, %v", got, err)
	}
	if got, err := read(write(&zero)); err != nil || !reflect.DeepEqual(got, zero) {
		t.Fatalf("a zero value is %+v, %v", got, err)
	}
	whole := write(&want)
	for length := range whole {
		if _, err := read(whole[:length]); !errors.Is(err, errDocument) {
			t.Fatalf("the first %d of %d bytes are read with %v", length, len(whole), err)
		}
	}
	if _, err := read(append(whole, 0xc0)); !errors.Is(err, errDocument) {
		t.Fatalf("a document with something behind it is read with %v", err)
	}
}

// withUnknownFields gives a document two fields of a later version.
func withUnknownFields(t *testing.T, document []byte) []byte {
	t.Helper()
	size, rest, err := msgp.ReadMapHeaderBytes(document)
	if err != nil {
		t.Fatal(err)
	}
	later := append(msgp.AppendMapHeader(nil, size+2), rest...)
	later = msgp.AppendInt(msgp.AppendString(later, "900"), 5)
	return msgp.AppendMapStrStr(msgp.AppendString(later, "901"), map[string]string{"of": "a later version"})
}

// A length that is damaged is an error, and takes no memory beyond a field's limit.
func TestDamagedLengthsTakeNoMemory(t *testing.T) {
	huge := map[string][]byte{
		"list":       msgp.AppendArrayHeader(nil, 1<<32-1),
		"map":        msgp.AppendMapHeader(nil, 1<<32-1),
		"text":       {0xdb, 0xff, 0xff, 0xff, 0xff},
		"bytes":      {0xc6, 0xff, 0xff, 0xff, 0xff},
		"short list": msgp.AppendArrayHeader(nil, 65536),
		"short map":  msgp.AppendMapHeader(nil, 65536),
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, damage := range huge {
		for number := range 50 {
			document := msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(nil, 2), "1"), "a-s1")
			document = append(msgp.AppendString(document, strconv.Itoa(number)), damage...)
			if _, err := decodeRun(document); !errors.Is(err, errDocument) {
				t.Errorf("%s in field %d of a run: %v", name, number, err)
			}
			if _, err := decodeWave(document); !errors.Is(err, errDocument) {
				t.Errorf("%s in field %d of a wave: %v", name, number, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 128<<20 {
		t.Errorf("%d bytes were taken for what is not there", taken)
	}
}

// A document of a run or of a wave is read, or refused, and what is read comes back.
func FuzzDecode(f *testing.F) {
	run := engine.Run{
		ID: "a-s1", Revision: 1, Args: map[string]string{"a": "b"}, Attempts: []engine.Attempt{{N: 1, Output: &engine.Output{Tail: []byte("x")}}},
	}
	wave := engine.Wave{
		ID: "a-w1", Slots: map[string]time.Time{"a": at10(1)}, Rests: []engine.WaveRest{{From: at10(2)}}, Tally: engine.WaveTally{Tasks: 1},
	}
	for _, document := range [][]byte{encodeRun(nil, &run), encodeRunSchema10(&run), encodeWave(&wave), schema10(f, "wave"), {0xff, 0xff, 0xff}} {
		f.Add(document)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		if run, err := decodeRun(document); err == nil {
			again, err := decodeRun(encodeRun(nil, &run))
			if err != nil || !cmp.Equal(again, run, cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })) {
				t.Errorf("%+v came back as %+v, %v", run, again, err)
			}
		}
		if wave, err := decodeWave(document); err == nil {
			again, err := decodeWave(encodeWave(&wave))
			if err != nil || !cmp.Equal(again, wave) {
				t.Errorf("%+v came back as %+v, %v", wave, again, err)
			}
		}
	})
}

func BenchmarkRunDocument(b *testing.B) {
	run := engine.Run{
		ID: "reportaaaaaaaaaa-s1772366400007", Revision: 4, Namespace: "default", JobUID: "reportaaaaaaaaaa", Job: "report", Trigger: "schedule",
		Slot: time.Now(), Status: engine.StatusSucceeded, Tier: "light", Class: "standard", Binary: "report@stable", Version: 3,
		Digest: "abababababababababababababababababababababababababababababababab", Kind: "elf", Size: 1 << 20,
		CreatedAt: time.Now(), QueuedAt: time.Now(), StartedAt: time.Now(), FinishedAt: time.Now(), Attempt: 1,
		Attempts: []engine.Attempt{{N: 1, Status: engine.StatusSucceeded, Executor: "host-1", Token: 9, QueuedAt: time.Now(), ClaimedAt: time.Now(),
			FetchedAt: time.Now(), StartedAt: time.Now(), FinishedAt: time.Now(), ExitCode: new(int), Usage: &engine.Usage{CPU: 5, MaxRSS: 7},
			Output: &engine.Output{Size: 6, Lines: 1, Tail: []byte("hello\n")}}},
	}
	document := encodeRun(nil, &run)
	text, err := json.Marshal(&run)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportMetric(float64(len(document)), "bytes")
		for b.Loop() {
			document = encodeRun(document[:0], &run)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := decodeRun(document); err != nil {
				b.Fatal(err)
			}
		}
	})
	old := schema10(b, "run")
	b.Run("decode-schema10", func(b *testing.B) {
		b.ReportMetric(float64(len(old)), "bytes")
		for b.Loop() {
			if _, err := decodeRun(old); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode-json", func(b *testing.B) {
		b.ReportMetric(float64(len(text)), "bytes")
		for b.Loop() {
			if _, err := json.Marshal(&run); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode-json", func(b *testing.B) {
		for b.Loop() {
			var run engine.Run
			if err := json.Unmarshal(text, &run); err != nil {
				b.Fatal(err)
			}
		}
	})
}
