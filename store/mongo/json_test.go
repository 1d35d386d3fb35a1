package mongo

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/spec"
)

func TestPayloadComesBackAsTheSameBytes(t *testing.T) {
	deep := strings.Repeat("[", 90) + strings.Repeat("]", 90)
	for _, test := range []struct {
		name, json string
		readable   bool // stored as BSON, not as a text
	}{
		{"object", `{"shops":[1,2],"rate":0.25,"name":"Dhaka","none":null,"yes":true}`, true},
		{"order of keys", `{"z":1,"a":2}`, true},
		{"large integer", `9007199254740993`, true},
		{"null", `null`, true},
		{"text", `"plain"`, true},
		{"markup", `"<b>&</b>"`, true},
		{"empty object and list", `{"a":{},"b":[]}`, true},
		{"one and a half", `1.5`, true},
		{"a float that is whole", `1.0`, false},
		{"an exponent", `1e3`, false},
		{"minus zero", `-0`, false},
		{"too large for BSON", `12345678901234567890`, false},
		{"escaped letter", `"\u00e9"`, false},
		{"half a surrogate pair", `"\ud800"`, false},
		{"spaces", `{"a": 1}`, false},
		{"dotted key", `{"a.b":1}`, false},
		{"dollar key", `{"$where":"1"}`, false},
		{"empty key", `{"":1}`, false},
		{"key twice", `{"a":1,"a":2}`, false},
		{"too deep", deep, false},
		{"invalid UTF-8", "\"\xff\"", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			held, err := newPayload(json.RawMessage(test.json))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := bson.Marshal(runDocument{Payload: held.value, PayloadJSON: held.text})
			if err != nil {
				t.Fatal(err)
			}
			var found runDocument
			if err := bson.Unmarshal(raw, &found); err != nil {
				t.Fatal(err)
			}
			got, err := payload{found.Payload, found.PayloadJSON}.json()
			if err != nil || string(got) != test.json {
				t.Errorf("got %s, %v; want %s", got, err, test.json)
			}
			if readable := !found.Payload.IsZero(); readable != test.readable {
				t.Errorf("stored as BSON: %v, want %v", readable, test.readable)
			}
		})
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,{"b":null}],"c":"d"}`))
	f.Add([]byte(`-1.0e-7`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		held, err := newPayload(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := held.json(); err != nil || string(got) != string(data) {
			t.Fatalf("got %q, %v; want %q", got, err, data)
		}
	})
}

// TestDefinitionHasTheShapeOfItsYAML is what people and other programs see in the database.
func TestDefinitionHasTheShapeOfItsYAML(t *testing.T) {
	definition, err := newDefinition(&spec.Job{
		Kind: spec.KindJob, Name: "nightly", Binary: "report@stable", Schedule: spec.Strings{"0 3 * * *"},
		Env: map[string]string{"LEVEL": "info", "A.B": "c"}, Timeout: spec.Duration(10 * time.Minute),
		Retry: spec.Retry{MaxAttempts: 3, On: []int{75}}, Limits: spec.Limits{Memory: 256 * spec.Mebibyte, CPU: 0.5},
		Payload: json.RawMessage(`{"shops":[1,2]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := bson.MarshalExtJSON(definition, false, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Job","name":"nightly","binary":"report@stable","env":{"A%2EB":"c","LEVEL":"info"},"schedule":"0 3 * * *",` +
		`"timeout":"10m","retry":{"max_attempts":3,"on":[75]},"limits":{"memory":"256MiB","cpu":0.5},"payload":{"shops":[1,2]}}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func TestDefinitionEditedByHandIsRead(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	raw, err := bson.Marshal(bson.D{
		{Key: "kind", Value: "Job"}, {Key: "name", Value: "x"}, {Key: "binary", Value: "b"},
		{Key: "at", Value: bson.NewDateTimeFromTime(at)},                        // ISODate(…)
		{Key: "retry", Value: bson.D{{Key: "max_attempts", Value: float64(3)}}}, // the old shell writes doubles
		{Key: "labels", Value: bson.D{{Key: "team.name", Value: "data"}}},       // a key that MongoDB 5 takes as it is
		{Key: "payload", Value: bson.D{{Key: "day", Value: bson.NewDateTimeFromTime(at)}, {Key: "n", Value: int64(1)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	job, err := readDefinition(raw)
	if err != nil {
		t.Fatal(err)
	}
	if job.At == nil || !job.At.Equal(at) || job.Retry.MaxAttempts != 3 || job.Labels["team.name"] != "data" ||
		string(job.Payload) != `{"day":"2026-12-31T23:59:59Z","n":1}` {
		t.Errorf("got %+v, payload %s", job, job.Payload)
	}
}

func TestDefinitionThatCannotBeReadSaysWhere(t *testing.T) {
	for _, test := range []struct {
		definition bson.D
		want       string
	}{
		{bson.D{{Key: "timeout", Value: "soon"}}, `"soon"`},
		{bson.D{{Key: "binary", Value: bson.NewObjectID()}}, "binary: a value of the type objectID"},
		{bson.D{{Key: "args", Value: bson.A{"a", bson.MaxKey{}}}}, "args: [1]: a value of the type max key"},
		{bson.D{{Key: "payload_json", Value: 7}}, "payload_json is a 32-bit integer"},
	} {
		raw, err := bson.Marshal(test.definition)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readDefinition(raw); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.want)) {
			t.Errorf("%v: got %v, want it to say %q", test.definition, err, test.want)
		}
	}
}
