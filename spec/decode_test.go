package spec_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/spec"
)

// The example of the manual, every key given.
func exampleYAML(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func instant(t testing.TB, text string) *time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return &parsed
}

func decodeOne(t testing.TB, text string) *spec.Job {
	t.Helper()
	documents, problems := spec.Decode("job.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatalf("unexpected problems:\n%v\nin:\n%s", err, text)
	}
	if len(documents) != 1 {
		t.Fatalf("got %d documents, want 1", len(documents))
	}
	return documents[0].Job
}

func TestDecodeReadsEveryKey(t *testing.T) {
	want := &spec.Job{
		Kind:        "Job",
		Name:        "nightly-report",
		Description: "Totals per shop",
		Binary:      "report@stable",
		Interpreter: "python3",
		Args:        []string{"--day", "${TIDEWHEEL_SLOT}", "7"},
		Env:         map[string]string{"LEVEL": "info", "PORT": "8080"},
		Secrets:     map[string]string{"DB_PASSWORD": "reporting-db"},
		Payload:     json.RawMessage(`{"shops":[1,2],"day":"2026-01-02","none":null,"hex":31}`),
		Schedule:    spec.Strings{"0 3 * * *"},
		Timezone:    "Asia/Dhaka",
		Active:      &spec.Window{From: instant(t, "2026-12-01T00:00:00Z"), Until: instant(t, "2027-12-01T00:00:00.5+06:00")},
		Tier:        spec.TierLight,
		RunsOn:      map[string]string{"gpu": "true", "arch": "arm64"},
		Class:       spec.ClassStandard,
		Timeout:     spec.Duration(10 * time.Minute),
		Grace:       spec.Duration(3 * time.Second),
		Retry: spec.Retry{
			MaxAttempts: 3, Delay: spec.Duration(5 * time.Second), MaxDelay: spec.Duration(5 * time.Minute),
			On: []int{75}, NotOn: []int{2},
		},
		Overlap:  spec.OverlapSkip,
		CatchUp:  spec.CatchUp{Policy: spec.CatchUpLast, Window: spec.Duration(time.Hour)},
		Delivery: spec.DeliveryAtLeastOnce,
		Limits:   spec.Limits{Memory: 256 * spec.Mebibyte, CPU: 0.5, Output: 64 * spec.Mebibyte, OpenFiles: 256},
		Exclude: []spec.Exclusion{
			{Cron: "0 3 25 12 *"},
			{From: *instant(t, "2026-12-24T00:00:00Z"), To: *instant(t, "2026-12-27T00:00:00Z")},
		},
		Triggers: &spec.Triggers{
			Webhook: &spec.WebhookTrigger{Secret: "hook-key"}, AfterSuccess: []string{"etl", "sales/orders"}, AllowAfter: []string{"reporting"},
		},
		Alerts: &spec.Alerts{
			On:  []spec.Alert{spec.AlertFailed, spec.AlertMissed, spec.AlertDead, spec.AlertRecovered},
			Lag: spec.Duration(30 * time.Second), Duration: spec.Duration(5 * time.Minute), SilentFor: spec.Duration(26 * time.Hour),
			To: []string{"ops"},
		},
		Retention: spec.Retention{Age: spec.Duration(90 * 24 * time.Hour), Runs: 1000, Output: spec.Duration(14 * 24 * time.Hour)},
		Labels:    map[string]string{"team": "finance"},
	}
	got := decodeOne(t, string(exampleYAML(t)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded job differs (-want +got):\n%s", diff)
	}
}

func TestDecodeAppliesDefaults(t *testing.T) {
	got := decodeOne(t, "kind: Job\nname: a\nbinary: b\n")
	want := &spec.Job{
		Kind: "Job", Name: "a", Binary: "b", Timezone: "UTC",
		Tier: spec.TierMedium, Class: spec.ClassStandard,
		Timeout: spec.Duration(time.Hour), Grace: spec.Duration(10 * time.Second),
		Retry:    spec.Retry{MaxAttempts: 1, Delay: spec.Duration(5 * time.Second), MaxDelay: spec.Duration(5 * time.Minute)},
		Overlap:  spec.OverlapSkip,
		CatchUp:  spec.CatchUp{Policy: spec.CatchUpLast, Window: spec.Duration(time.Hour)},
		Delivery: spec.DeliveryAtLeastOnce,
		Limits:   spec.Limits{Output: spec.Gibibyte},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults differ (-want +got):\n%s", diff)
	}
	if !got.Manual() {
		t.Error("a job without a schedule is not manual")
	}
}

func TestTierFollowsFromTimeout(t *testing.T) {
	for timeout, want := range map[string]spec.Tier{
		"1s": spec.TierLight, "10m": spec.TierLight, "10m1s": spec.TierMedium, "1h": spec.TierMedium, "61m": spec.TierHeavy,
	} {
		if got := decodeOne(t, "kind: Job\nname: a\nbinary: b\ntimeout: "+timeout+"\n").Tier; got != want {
			t.Errorf("timeout %s gives tier %s, want %s", timeout, got, want)
		}
	}
	given := decodeOne(t, "kind: Job\nname: a\nbinary: b\ntimeout: 5h\ntier: light\n")
	if given.Tier != spec.TierLight {
		t.Errorf("a given tier became %s", given.Tier)
	}
}

func TestLongDelayLiftsTheCeiling(t *testing.T) {
	job := decodeOne(t, "kind: Job\nname: a\nbinary: b\nretry: {max_attempts: 2, delay: 20m}\n")
	if job.Retry.MaxDelay != spec.Duration(20*time.Minute) {
		t.Errorf("max_delay is %s, want 20m", job.Retry.MaxDelay)
	}
}

func TestDecodeReadsManyDocuments(t *testing.T) {
	const text = "\uFEFF# head\n---\nkind: Job\nname: one\nbinary: b\n---\n# nothing\n---\nkind: Job\nname: two\nbinary: b\nat: 2026-12-31T23:59:59Z\n...\n---\n"
	documents, problems := spec.Decode("jobs.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, document := range documents {
		got = append(got, document.Job.Name, document.File)
		if line := strings.Split(text, "\n")[document.Line-1]; line != "kind: Job" {
			t.Errorf("document %s is said to begin on line %d: %q", document.Job.Name, document.Line, line)
		}
	}
	if diff := cmp.Diff([]string{"one", "jobs.yaml", "two", "jobs.yaml"}, got); diff != "" {
		t.Errorf("documents differ (-want +got):\n%s", diff)
	}
}

func TestFaultlessDocumentsOfAFaultyFileAreReturned(t *testing.T) {
	documents, problems := spec.Decode("jobs.yaml", []byte("kind: Job\nname: one\nbinary: b\n---\nkind: Job\nname: two\n---\nkind: Job\nname: [\n---\nkind: Job\nname: three\nbinary: b\n"))
	var names []string
	for _, document := range documents {
		names = append(names, document.Job.Name)
	}
	if diff := cmp.Diff([]string{"one", "three"}, names); diff != "" {
		t.Errorf("documents differ (-want +got):\n%s", diff)
	}
	if len(problems) != 2 || problems[0].Line != 5 || problems[1].Line != 9 {
		t.Errorf("problems are:\n%v", problems)
	}
}

func TestJSONIsReadAsWritten(t *testing.T) {
	const text = `{"kind": "Job", "name": "a", "binary": "b", "env": {"N": 1.10, "T": true},
  "payload": {"face": "\ud83d\ude00", "big": 123456789012345678901234567890, "html": "<&>", "b": 1, "a": 2}}`
	for _, file := range []string{"job.json", "job.yaml", "-"} {
		documents, problems := spec.Decode(file, []byte(text))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		job := documents[0].Job
		const want = `{"face":"😀","big":123456789012345678901234567890,"html":"<&>","b":1,"a":2}`
		if string(job.Payload) != want {
			t.Errorf("payload is %s, want %s", job.Payload, want)
		}
		if diff := cmp.Diff(map[string]string{"N": "1.10", "T": "true"}, job.Env); diff != "" {
			t.Errorf("env differs (-want +got):\n%s", diff)
		}
	}
}

func TestAliasesAreFollowed(t *testing.T) {
	job := decodeOne(t, "kind: Job\nname: a\nbinary: b\npayload: {x: &x [1, 2], y: *x}\nenv: &e {A: a}\nlabels: {team: &t finance, owner: *t}\n")
	if string(job.Payload) != `{"x":[1,2],"y":[1,2]}` || job.Labels["owner"] != "finance" {
		t.Errorf("payload %s, labels %v", job.Payload, job.Labels)
	}
}

func TestPayloadMayBeAnyJSON(t *testing.T) {
	for written, want := range map[string]string{
		"null": "null", "~": "null", "text": `"text"`, "0": "0", "-1.5e3": "-1.5e3", "True": "true", "[]": "[]", "{}": "{}",
		"0x1F": "31", "1_000": "1000", "+5": "5", `"5"`: `"5"`, "!!str 5": `"5"`, "!!float 5": "5", "{1: a}": `{"1":"a"}`,
		"2026-01-02": `"2026-01-02"`, "yes": `"yes"`, "|\n  a\n  b": `"a\nb\n"`,
	} {
		job := decodeOne(t, "kind: Job\nname: a\nbinary: b\npayload: "+written+"\n")
		if string(job.Payload) != want {
			t.Errorf("payload %s became %s, want %s", written, job.Payload, want)
		}
	}
}
