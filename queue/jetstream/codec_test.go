package jetstream

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
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
	case spec.Size:
		v.Set(reflect.ValueOf(spec.Size(random.Int64N(1 << 50)))) // a negative one is a text that cannot be read
		return
	case engine.ResultKind:
		kinds := []engine.ResultKind{
			engine.ResultStarted, engine.ResultProgress, engine.ResultFinished, engine.ResultRevoked, engine.ResultLost, "other",
		}
		v.Set(reflect.ValueOf(kinds[random.IntN(len(kinds))]))
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

// TestCodecSaysWhatJSONSays fills every field that there is, at random and now and then none. Nodes of a former version
// wrote and read what encoding/json does, and work beside those of this one.
func TestCodecSaysWhatJSONSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		empty := []float64{0, 0.2, 0.7}[seed%3]
		var task engine.Task
		fill(t, reflect.ValueOf(&task).Elem(), random, empty)
		says(t, seed, task, func() ([]byte, error) { return encodeTask(nil, &task) }, decodeTask)
		var result engine.Result
		fill(t, reflect.ValueOf(&result).Elem(), random, empty)
		if result.Finish != nil && result.Finish.Status == engine.StatusInvalid {
			result.Finish.Status = engine.StatusFailed
		}
		says(t, seed, result, func() ([]byte, error) { return encodeResult([]byte{}, &result) }, decodeResult)
		var holder executor.LockHolder
		fill(t, reflect.ValueOf(&holder).Elem(), random, empty)
		says(t, seed, holder, func() ([]byte, error) { return encodeHolder(nil, holder) }, decodeHolder)
		if t.Failed() {
			return
		}
	}
}

// says compares both with encoding/json: what it reads of what we write, and what we read of what it writes.
func says[T any](t *testing.T, seed uint64, value T, encode func() ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	theirs, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := encode()
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var read, want T
	if err := errors.Join(json.Unmarshal(ours, &read), json.Unmarshal(theirs, &want)); err != nil {
		t.Fatalf("seed %d: encoding/json does not read %s: %v", seed, ours, err)
	}
	if got, want := marshaled(t, read), marshaled(t, want); got != want { // alike whatever space there is in pieces of JSON
		t.Errorf("seed %d: encoded\n%s\nwhich is\n%s\nand not\n%s", seed, ours, got, want)
	}
	for _, message := range [][]byte{theirs, later(theirs)} {
		if got, err := decode(message); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: decoded %v\n%+v\nwant\n%+v\nof\n%s", seed, err, got, want, message)
		}
	}
}

func marshaled(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// later is a message as a later version may write it: there is more in it, and space between.
func later(message []byte) []byte {
	return append([]byte(`{ "of_later" : [{"a": null, "b": ["}\""]}, -1.5e3, true] ,`+"\n"), message[1:]...)
}

// A message without its end is refused, and so is one with more bytes after its end.
func TestCodecRefusesDamage(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		var task engine.Task
		fill(t, reflect.ValueOf(&task).Elem(), random, 0.2)
		var result engine.Result
		fill(t, reflect.ValueOf(&result).Elem(), random, 0.2)
		ofTask, err := encodeTask(nil, &task)
		if err != nil {
			t.Fatal(err)
		}
		ofResult, err := encodeResult(nil, &result)
		if err != nil {
			t.Fatal(err)
		}
		for length := range ofTask {
			if _, err := decodeTask(ofTask[:length]); err == nil {
				t.Fatalf("the first %d bytes are a task: %s", length, ofTask)
			}
		}
		for length := range ofResult {
			if _, err := decodeResult(ofResult[:length]); err == nil {
				t.Fatalf("the first %d bytes are a result: %s", length, ofResult)
			}
		}
		if _, err := decodeTask(append(ofTask, '}')); err == nil {
			t.Fatal("a task with something behind it is read")
		}
	}
}

// TestCodecWritesNothingUnreadable spoils each piece of JSON, each number with a fraction and each time that there is: the error
// comes where the message is written, and not where it is too late to act on it.
func TestCodecWritesNothingUnreadable(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 3))
	var task engine.Task
	fill(t, reflect.ValueOf(&task).Elem(), random, 0)
	spoil(t, "task", reflect.ValueOf(&task).Elem(), func() error {
		_, err := encodeTask(nil, &task)
		return err
	})
	var result engine.Result
	fill(t, reflect.ValueOf(&result).Elem(), random, 0)
	result.Finish.Status = engine.StatusFailed
	spoil(t, "result", reflect.ValueOf(&result).Elem(), func() error {
		_, err := encodeResult(nil, &result)
		return err
	})
}

// spoil calls encode with one thing below v after the other that JSON cannot hold, and expects an error each time.
func spoil(t *testing.T, name string, v reflect.Value, encode func() error) {
	t.Helper()
	if err := encode(); err != nil {
		t.Fatalf("%s is spoilt already: %v", name, err)
	}
	whole := reflect.New(v.Type()).Elem()
	whole.Set(v)
	defer v.Set(whole)
	switch at := v.Addr().Interface().(type) {
	case *json.RawMessage:
		for _, piece := range []string{`{"a":`, `1,"run":"another"`, ` `} {
			if *at = json.RawMessage(piece); encode() == nil {
				t.Errorf("%s was encoded with %s", name, piece)
			}
		}
		return
	case *float64:
		for _, number := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			if *at = number; encode() == nil {
				t.Errorf("%s was encoded with %v", name, number)
			}
		}
		return
	case *time.Time:
		east, west := time.FixedZone("", 24*3600), time.FixedZone("", -24*3600)
		for _, when := range []time.Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), at.In(east), at.In(west)} {
			if *at = when; encode() == nil {
				t.Errorf("%s was encoded with %v", name, when)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(t, name+"."+v.Type().Field(i).Name, v.Field(i), encode)
		}
	case reflect.Pointer:
		spoil(t, name, v.Elem(), encode)
	case reflect.Slice:
		for i := range v.Len() {
			spoil(t, name, v.Index(i), encode)
		}
	default:
	}
}

// FuzzDecode reads anything. What can be read can be written again, and is the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "run" : "a" , "attempt" : 1 } `, `{"run":"a"`, `{"run":"a"}x`, `{"attempt":01}`, `{"attempt":-0}`, `{"attempt":1.5}`, `{"attempt":1e3}`,
		`{"attempt":9223372036854775808}`, `{"token":18446744073709551615}`, `{"token":-1}`, `{"run":null}`, `{"RUN":"a"}`, `{"run":"a\u0041"}`,
		`{"run":"` + "\xff" + `"}`, `{"args":[]}`, `{"args":["a",]}`, `{"args":["a","b"],"args":["c"]}`, `{"env":{"a":"b"},"env":{"c":"d"}}`,
		`{"payload":{"a":[1,2,{"b":"}"}]},"job":"x"}`, `{"payload":null}`, `{"payload":}`, `{"payload":1,}`, `{"env":{"a":"b"}}`,
		`{"limits":{"memory":"1 MiB","cpu":0.5}}`, `{"slot":"2026-01-02T03:04:05.678Z"}`, `{"slot":"2026-01-02"}`, `{"slot":""}`, `{"at":"2026-01-02T03:04:05+01:00"}`,
		`{"finish":{"status":"failed","exit_code":1,"no_retry":true,"handed_back":false,"usage":{"cpu":1},"output":{"size":1,"tail":"aGk="}}}`,
		`{"finish":{"status":""}}`, `{"finish":{"status":"x"}}`, `{"finish":{},"finish":{"signal":"9"}}`, `{"finish":{"output":{"tail":"a"}}}`,
		`{"finish":{"output":{"tail":""}}}`, `{"finish":{"no_retry":truex}}`,
		`{"payload":01}`, `{"payload":-}`, `{"payload":1.}`, `{"payload":"\x"}`,
		`{"slot":"2026-01-02T03:04:05+24:00"}`, `{"at":"2026-01-02T03:04:05-24:00"}`,
		`{"finish":{"started_at":"2026-01-02T03:04:05+24:00","outputs":{"a":01}}}`, `{"inputs":[{"outputs":-}]}`, `{"item_value":1e}`,
		`{"kind":"other","progress":{"fraction":0.5}}`, `null`, `[]`, `{"a":1}`, `{,}`, `{"run":"a",}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			_, _ = decodeTask(data) // it may be read, but what is no UTF-8 in it is written as U+FFFD
			_, _ = decodeResult(data)
			return
		}
		if task, err := decodeTask(data); err == nil {
			comesBack(t, task, func() ([]byte, error) { return encodeTask(nil, &task) }, decodeTask)
		}
		if result, err := decodeResult(data); err == nil {
			comesBack(t, result, func() ([]byte, error) { return encodeResult(nil, &result) }, decodeResult)
		}
	})
}

func comesBack[T any](t *testing.T, value T, encode func() ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	message, err := encode()
	if err != nil {
		t.Fatalf("%+v was read and cannot be written: %v", value, err)
	}
	if got, err := decode(message); err != nil || !cmp.Equal(got, value, cmpopts.EquateEmpty()) {
		t.Fatalf("%+v came back as %+v, %v, of\n%s", value, got, err, message)
	}
}

func BenchmarkCodec(b *testing.B) {
	code, at := 0, time.Now()
	task := benchTask(7)
	task.Limits.Output = spec.DefaultOutput
	result := &engine.Result{
		Kind: engine.ResultFinished, Run: task.Run, Shard: task.Shard, Attempt: 1, Executor: "host-1", Token: 7, At: at, Finish: &engine.Finish{
			Status: engine.StatusSucceeded, ExitCode: &code, StartedAt: at, FinishedAt: at, Usage: &engine.Usage{CPU: time.Millisecond, MaxRSS: 20 << 20},
			Output: &engine.Output{Size: 3, Lines: 1, Tail: []byte("hi\n")},
		},
	}
	benchCodec(b, "task", task, func(b []byte) ([]byte, error) { return encodeTask(b, task) }, decodeTask)
	benchCodec(b, "result", result, func(b []byte) ([]byte, error) { return encodeResult(b, result) }, decodeResult)
}

// benchCodec measures both ways, with encoding/json beside them.
func benchCodec[T any](b *testing.B, name string, value *T, encode func([]byte) ([]byte, error), decode func([]byte) (T, error)) {
	room := make([]byte, 0, 1024)
	data, err := encode(nil)
	if err != nil {
		b.Fatal(err)
	}
	run := func(what string, once func() error) {
		b.Run(name+"/"+what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
	}
	run("encode", func() error { _, err := encode(room); return err })
	run("decode", func() error { _, err := decode(data); return err })
	run("encode by encoding-json", func() error { _, err := json.Marshal(value); return err })
	run("decode by encoding-json", func() error { return json.Unmarshal(data, new(T)) })
}
