package jetstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// fill gives every field below v a value, or with some probability none. A kind of field that it does not know fails
// the test: the codec does not know it either.
func fill(t *testing.T, v reflect.Value, random *rand.Rand, empty float64) {
	t.Helper()
	if random.Float64() < empty {
		return
	}
	switch value := v.Interface().(type) {
	case time.Time:
		zone := []*time.Location{time.UTC, time.FixedZone("", 5400), time.FixedZone("", -36000)}[random.IntN(3)]
		v.Set(reflect.ValueOf(time.Unix(random.Int64N(4e9), random.Int64N(1e9)).In(zone)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a": [1, "<x>", {"b}": null}], "c": "\"]"}`)))
		return
	case engine.Status:
		statuses := engine.Statuses()
		v.Set(reflect.ValueOf(statuses[random.IntN(len(statuses))]))
		return
	case engine.ResultKind:
		v.Set(reflect.ValueOf(append(resultKinds, "other")[random.IntN(len(resultKinds)+1)]))
		return
	default:
		_ = value
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") == "-" {
				continue
			}
			fill(t, v.Field(i), random, empty)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), random, empty)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(3), 3))
		for i := range v.Len() {
			fill(t, v.Index(i), random, 0)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, random, 0)
			fill(t, value, random, 0)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		texts := []string{"plain", "light", "premium", "with \"quotes\" and \\", "<&>", "zwölf ☃", "bad \xff utf8", "line\n\t", "\u2028", strings.Repeat("x", 300)}
		v.SetString(texts[random.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt((random.Int64() >> random.IntN(63)) * int64(1-2*random.IntN(2)))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(random.Uint64() >> random.IntN(63) & (1<<v.Type().Bits() - 1))
	case reflect.Float64:
		v.SetFloat(random.Float64())
	default:
		t.Fatalf("a field of type %s: teach the codec and this test", v.Type())
	}
}

// TestCodecGivesWhatJSONGives fills every field that there is, at random and now and then none: the bytes and the values
// are those of encoding/json.
func TestCodecGivesWhatJSONGives(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		empty := []float64{0, 0.2, 0.7}[seed%3]
		var task engine.Task
		fill(t, reflect.ValueOf(&task).Elem(), random, empty)
		same(t, seed, task, func() ([]byte, error) { return encodeTask(nil, &task) }, decodeTask)
		var result engine.Result
		fill(t, reflect.ValueOf(&result).Elem(), random, empty)
		if result.Finish != nil && result.Finish.Status == engine.StatusInvalid {
			result.Finish.Status = engine.StatusFailed
		}
		same(t, seed, result, func() ([]byte, error) { return encodeResult([]byte{}, &result) }, decodeResult)
		var holder executor.LockHolder
		fill(t, reflect.ValueOf(&holder).Elem(), random, empty)
		same(t, seed, holder, func() ([]byte, error) { return encodeHolder(nil, holder) }, decodeHolder)
		if t.Failed() {
			return
		}
	}
}

func same[T any](t *testing.T, seed uint64, value T, encode func() ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	want, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	got, err := encode()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("seed %d: encoded %v\n%s\nwant\n%s", seed, err, got, want)
	}
	sameDecoded(t, fmt.Sprintf("seed %d", seed), want, decode)
}

func sameDecoded[T any](t *testing.T, name string, data []byte, decode func([]byte) (T, error)) {
	t.Helper()
	var want T
	wantErr := json.Unmarshal(data, &want)
	got, err := decode(data)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%s: %v, want %v, of\n%s", name, err, wantErr, data)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: decoded\n%+v\nwant\n%+v\nof\n%s", name, got, want, data)
	}
}

// TestCodecTakesTheUsual makes sure that what a usual run sends is not left to encoding/json.
func TestCodecTakesTheUsual(t *testing.T) {
	t.Parallel()
	code := 0
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	task := engine.Task{Run: "a-s1", Attempt: 1, Args: []string{"-n", "ü"}, Env: map[string]string{"A": "\n"}, Payload: json.RawMessage(`{}`), Slot: at, QueuedAt: at}
	data, err := encodeTask(nil, &task)
	if err != nil {
		t.Fatal(err)
	}
	d, read := newDecoder(data), engine.Task{}
	if d.task(&read); !d.ended() || !reflect.DeepEqual(read, task) {
		t.Errorf("task: failed %v at %d of %s\n%+v", d.failed, d.at, data, read)
	}
	result := engine.Result{Kind: engine.ResultFinished, Run: "a-s1", Attempt: 1, Executor: "one", Token: 7, At: at, Finish: &engine.Finish{
		Status: engine.StatusSucceeded, ExitCode: &code, StartedAt: at, FinishedAt: at, Usage: &engine.Usage{CPU: 1, MaxRSS: 2},
		Output: &engine.Output{Size: 3, Lines: 1, Tail: []byte("hi\n")},
	}}
	if data, err = encodeResult(nil, &result); err != nil {
		t.Fatal(err)
	}
	d, got := newDecoder(data), engine.Result{}
	if d.result(&got); !d.ended() || !reflect.DeepEqual(got, result) {
		t.Errorf("result: failed %v at %d of %s\n%+v", d.failed, d.at, data, got)
	}
}

func TestCodecErrors(t *testing.T) {
	t.Parallel()
	far := time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := encodeTask(nil, &engine.Task{QueuedAt: far}); err == nil {
		t.Error("a time that JSON cannot hold was encoded")
	}
	if _, err := encodeTask(nil, &engine.Task{Payload: json.RawMessage(`{"a":`)}); err == nil {
		t.Error("a payload that is no JSON was encoded")
	}
	if _, err := encodeResult(nil, &engine.Result{Finish: &engine.Finish{FinishedAt: far}}); err == nil {
		t.Error("a time that JSON cannot hold was encoded")
	}
}

// FuzzDecode holds reading to encoding/json's on anything.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "run" : "a" , "attempt" : 1 } `, `{"run":"a"`, `{"run":"a"}x`, `{"attempt":01}`, `{"attempt":-0}`, `{"attempt":1.5}`, `{"attempt":1e3}`,
		`{"attempt":9223372036854775808}`, `{"token":18446744073709551615}`, `{"token":-1}`, `{"run":null}`, `{"RUN":"a"}`, `{"run":"a\u0041"}`,
		`{"run":"` + "\xff" + `"}`, `{"args":[]}`, `{"args":["a",]}`, `{"args":["a","b"],"args":["c"]}`, `{"env":{"a":"b"},"env":{"c":"d"}}`,
		`{"payload":{"a":[1,2,{"b":"}"}]},"job":"x"}`, `{"payload":null}`, `{"payload":}`, `{"payload":1,}`, `{"env":{"a":"b"}}`,
		`{"limits":{"memory":"1 MiB","cpu":0.5}}`, `{"slot":"2026-01-02T03:04:05.678Z"}`, `{"slot":"2026-01-02"}`, `{"slot":""}`, `{"at":"2026-01-02T03:04:05+01:00"}`,
		`{"finish":{"status":"failed","exit_code":1,"no_retry":true,"handed_back":false,"usage":{"cpu":1},"output":{"size":1,"tail":"aGk="}}}`,
		`{"finish":{"status":""}}`, `{"finish":{"status":"x"}}`, `{"finish":{},"finish":{"signal":"9"}}`, `{"finish":{"output":{"tail":"a"}}}`,
		`{"finish":{"output":{"tail":""}}}`, `{"finish":{"no_retry":truex}}`, `{"kind":"other","progress":{"fraction":0.5}}`, `null`, `[]`, `{"a":1}`, `{,}`, `{"run":"a",}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameDecoded(t, "task", data, decodeTask)
		sameDecoded(t, "result", data, decodeResult)
	})
}

func BenchmarkCodec(b *testing.B) {
	task := benchTask(7)
	data, err := encodeTask(nil, task)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("task/encode", func(b *testing.B) {
		b.ReportAllocs()
		var buffer []byte
		for b.Loop() {
			buffer, _ = encodeTask(buffer[:0], task)
		}
	})
	b.Run("task/decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = decodeTask(data)
		}
	})
	b.Run("task/decode by encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var read engine.Task
			_ = json.Unmarshal(data, &read)
		}
	})
}
