package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidewheel/tidewheel/spec"
)

func encode(t testing.TB, job *spec.Job) string {
	t.Helper()
	data, err := spec.Encode(job)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEncodeWritesWhatAPersonWouldWrite(t *testing.T) {
	const want = `kind: Job
name: nightly-report
description: Totals per shop
binary: report@stable
interpreter: python3
args: ["--day", "${TIDEWHEEL_SLOT}", "7"]
env: {LEVEL: info, PORT: "8080"}
secrets: {DB_PASSWORD: reporting-db}
payload: {shops: [1, 2], day: "2026-01-02", none: null, hex: 31}
schedule: "0 3 * * *"
timezone: Asia/Dhaka
active: {from: "2026-12-01T00:00:00Z", until: "2027-12-01T00:00:00.5+06:00"}
runs_on: {arch: arm64, gpu: "true"}
timeout: 10m
grace: 3s
retry: {max_attempts: 3, on: [75], not_on: [2]}
limits: {memory: 256MiB, cpu: 0.5, output: 64MiB, open_files: 256}
exclude:
  - "0 3 25 12 *"
  - {from: "2026-12-24T00:00:00Z", to: "2026-12-27T00:00:00Z"}
triggers:
  webhook: {secret: hook-key}
  after_success: [etl, sales/orders]
  allow_after: [reporting]
alerts:
  on: [failed, missed, dead, recovered]
  lag: 30s
  duration: 5m
  silent_for: 26h
  to: [ops]
retention: {age: 2160h, runs: 1000, output: 336h}
labels: {team: finance}
`
	if diff := cmp.Diff(want, encode(t, decodeOne(t, string(exampleYAML(t))))); diff != "" {
		t.Errorf("YAML differs (-want +got):\n%s", diff)
	}
}

func TestEncodeLeavesDefaultsOut(t *testing.T) {
	job := decodeOne(t, "kind: Job\nname: a\nbinary: b\ntier: light\ntimeout: 10m\nretry: {max_attempts: 2, delay: 10m, max_delay: 10m}\nat: 2026-12-31T23:59:59Z\n")
	const want = "kind: Job\nname: a\nbinary: b\nat: 2026-12-31T23:59:59Z\ntimeout: 10m\nretry: {max_attempts: 2, delay: 10m}\n"
	if diff := cmp.Diff(want, encode(t, job)); diff != "" {
		t.Errorf("YAML differs (-want +got):\n%s", diff)
	}
}

func TestEncodeKeepsTextAsText(t *testing.T) {
	for _, text := range []string{
		"yes", "off", "null", "~", "1e3", "0x10", "1_000", "2026-01-02", "<<", "a: b", "a #b", "- a", "*a", "&a", "!a", "@a", "`a", "%a",
		" a", "a ", "a\nb", "a\n b", "a\n", "\ta", "a\r\nb", "---", "...", "\u2028", "\u0085", "😀", "\uFEFF", "'", `"`, `\`, "=", "?", "|", ">", "{", "[", "",
	} {
		job := &spec.Job{Kind: "Job", Name: "a", Binary: "b", Args: []string{text}, Env: map[string]string{"A": text}}
		payload, err := json.Marshal(map[string]any{text: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		job.Payload = payload
		got := decodeOne(t, encode(t, job))
		if got.Args[0] != text || got.Env["A"] != text || !got.Equal(job) {
			t.Errorf("%q became args %q, env %q, payload %s", text, got.Args, got.Env["A"], got.Payload)
		}
	}
}

func TestEncodeThenDecodeIsTheSameJob(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		job := drawJob(r)
		if problems := job.Validate(); len(problems) > 0 {
			r.Fatalf("the generator made an invalid job: %v", problems)
		}
		data, err := spec.Encode(job)
		if err != nil {
			r.Fatal(err)
		}
		documents, problems := spec.Decode("job.yaml", data)
		if len(problems) > 0 || len(documents) != 1 {
			r.Fatalf("%v\n%s", problems, data)
		}
		if !documents[0].Job.Equal(job) {
			r.Fatalf("another job came back:\n%s", data)
		}
		again, err := spec.Encode(documents[0].Job)
		if err != nil || string(again) != string(data) {
			r.Fatalf("encoding is not stable (%v):\n%s\n%s", err, data, again)
		}
	})
}

// drawJob makes valid jobs.
func drawJob(r *rapid.T) *spec.Job {
	duration := func(name string, least time.Duration) spec.Duration {
		return spec.Duration(rapid.Int64Range(int64(least), int64(time.Hour)).Draw(r, name))
	}
	text := rapid.StringOf(rapid.Rune().Filter(func(c rune) bool { return c != 0 })).Filter(func(s string) bool { return len(s) < 200 })
	job := &spec.Job{
		Kind:     "Job",
		Name:     rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}`).Draw(r, "name"),
		Binary:   rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}(@[1-9][0-9]{0,5}|@[a-z]{1,9})?|sha256:[0-9a-f]{64}`).Draw(r, "binary"),
		Args:     rapid.SliceOfN(text, 0, 4).Draw(r, "args"),
		Env:      rapid.MapOfN(rapid.StringMatching(`[A-Z_][a-z0-9_]{0,8}`), text, 0, 4).Draw(r, "env"),
		Schedule: rapid.SampledFrom([]spec.Strings{nil, {"0 3 * * *"}, {"*/5 * * * *", "@every 90s"}}).Draw(r, "schedule"),
		Tier:     rapid.SampledFrom([]spec.Tier{"", spec.TierLight, spec.TierMedium, spec.TierHeavy}).Draw(r, "tier"),
		Overlap:  rapid.SampledFrom([]spec.Overlap{"", spec.OverlapAllow}).Draw(r, "overlap"),
		Timeout:  duration("timeout", time.Millisecond),
		Limits:   spec.Limits{Output: spec.Size(rapid.Int64Range(1024, 1<<40).Draw(r, "output")), CPU: rapid.Float64Range(0.01, 1024).Draw(r, "cpu")},
	}
	job.Retry.MaxAttempts = rapid.IntRange(0, 100).Draw(r, "attempts")
	if job.Retry.MaxAttempts > 1 {
		job.Retry.Delay = duration("delay", time.Millisecond)
	}
	if job.Schedule == nil && rapid.Bool().Draw(r, "once") {
		at := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(r, "at"))
		job.At = &at
	}
	if rapid.Bool().Draw(r, "described") {
		lines := rapid.SliceOfN(rapid.StringMatching(`[ a-z#:'"-]{0,20}`), 1, 5).Draw(r, "description")
		job.Description = strings.Join(lines, "\n")
	}
	if rapid.Bool().Draw(r, "paid") {
		payload, err := json.Marshal(map[string]any{
			text.Draw(r, "key"): rapid.Float64().Draw(r, "number"),
			"list":              rapid.SliceOfN(text, 0, 3).Draw(r, "list"),
			"nested":            map[string]any{"a": nil, "b": true, "c": []any{map[string]any{}}},
		})
		if err != nil {
			r.Fatal(err)
		}
		job.Payload = payload
	}
	return job
}

func TestStoredFormReadsBack(t *testing.T) {
	job := decodeOne(t, string(exampleYAML(t)))
	stored, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var got spec.Job
	if err := json.Unmarshal(stored, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job, &got); diff != "" {
		t.Errorf("the stored job differs (-want +got):\n%s", diff)
	}
}

func TestEqualSeesMeaningNotForm(t *testing.T) {
	base := "kind: Job\nname: a\nbinary: b\n"
	same := []string{
		base,
		base + "timeout: 60m\ntimezone: UTC\nretry: {max_attempts: 1}\nactive: {}\nalerts: {}\nargs: []\n",
	}
	for _, text := range same {
		if !decodeOne(t, base).Equal(decodeOne(t, text)) {
			t.Errorf("not equal to the plain job:\n%s", text)
		}
	}
	pairs := []struct {
		left, right string
		equal       bool
	}{
		{"schedule: 0 3 * * *", "schedule: [0 3 * * *]", true},
		{"payload: {a: 1, b: 2}", "payload: {b: 2, a: 1}", true},
		{"payload: 1", "payload: 1.0", false},
		{"payload: null", "labels: {}", false},
		{"retry: {max_attempts: 2, on: [1, 2]}", "retry: {max_attempts: 2, on: [2, 1]}", true},
		{"at: 2026-01-01T00:00:00Z", "at: 2026-01-01T06:00:00+06:00", true},
		{"at: 2026-01-01T00:00:00Z", "at: 2026-01-01T00:00:00.001Z", false},
		{"args: [a, b]", "args: [b, a]", false},
		{"alerts: {on: [failed, dead], to: [a, b]}", "alerts: {on: [dead, failed], to: [b, a]}", true},
		{"alerts: {on: [failed], to: [a]}", "alerts: {on: [failed], to: [b]}", false},
		{"triggers: {after_success: [x, y], allow_after: [c, d]}", "triggers: {after_success: [y, x], allow_after: [d, c]}", true},
		{"triggers: {webhook: {secret: a}}", "triggers: {webhook: {secret: b}}", false},
		{"triggers: {webhook: {secret: a}}", "{}", false},
		{"triggers: {message: {subject: a}}", "triggers: {message: {subject: b}}", false},
		{"triggers: {message: {subject: a}}", "{}", false},
		{"triggers: {objects: {bucket: aaa, prefix: x}}", "triggers: {objects: {bucket: aaa, prefix: y}}", false},
		{"triggers: {objects: {bucket: aaa}}", "{}", false},
		{"triggers: {}", "{}", true},
		{"alerts: {silent_for: 26h}", "{}", false},
		{"alerts: {duration: 5m}", "{}", false},
		{"retention: {age: 90h}", "{}", false},
		{"retention: {runs: 5}", "retention: {runs: 6}", false},
		{"retention: {}", "{}", true},
		{"timeout: 10m", "{}", false},
	}
	for _, pair := range pairs {
		if pair.right == "{}" {
			pair.right = ""
		}
		left, right := decodeOne(t, base+pair.left+"\n"), decodeOne(t, base+pair.right+"\n")
		if left.Equal(right) != pair.equal || right.Equal(left) != pair.equal {
			t.Errorf("%s and %s: equal is %v, want %v", pair.left, pair.right, !pair.equal, pair.equal)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	job := decodeOne(t, string(exampleYAML(t)))
	before := encode(t, job)
	clone := job.Clone()
	if diff := cmp.Diff(job, clone); diff != "" {
		t.Fatalf("the clone differs (-want +got):\n%s", diff)
	}
	clone.Args[0], clone.Env["LEVEL"], clone.Secrets["DB_PASSWORD"], clone.Payload[1] = "x", "x", "x", ' '
	clone.Schedule[0], *clone.Active.From, clone.Retry.On[0], clone.Retry.NotOn[0] = "x", time.Time{}, 9, 9
	*clone.Active.Until, clone.Exclude[0].Cron, clone.Alerts.Lag, clone.Labels["team"] = time.Time{}, "x", 1, "x"
	clone.Triggers.Webhook.Secret, clone.Triggers.AfterSuccess[0], clone.Triggers.AllowAfter[0] = "x", "x", "x"
	clone.Alerts.On[0], clone.Alerts.To[0] = spec.AlertSkipped, "x"
	if diff := cmp.Diff(before, encode(t, job)); diff != "" {
		t.Errorf("changing the clone changed the job:\n%s", diff)
	}
}
