package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/spec"
)

func TestDurationText(t *testing.T) {
	for text, want := range map[string]string{
		"90s": "1m30s", "60m": "1h", "10m": "10m", "1h30m": "1h30m", "1.5s": "1.5s", "24h": "24h", "10ms": "10ms", "1h0m1s": "1h0m1s", "5µs": "5µs",
	} {
		var duration spec.Duration
		if err := duration.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if duration.String() != want {
			t.Errorf("%s is written as %s, want %s", text, duration, want)
		}
	}
	for _, text := range []string{"", "5", "-5s", "1d", "s", "1 s", "+5s", ".5s", "5s ", "NaNs", "99999999h"} {
		var duration spec.Duration
		if err := duration.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %s", text, duration)
		}
	}
}

func TestSizeText(t *testing.T) {
	for text, want := range map[string]string{
		"256MiB": "256MiB", "1024MiB": "1GiB", "1.5KiB": "1536B", "1GB": "1000000000B", "5B": "5B", "0B": "0B", "1024TiB": "1024TiB", "64KB": "64000B",
	} {
		var size spec.Size
		if err := size.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if size.String() != want {
			t.Errorf("%s is written as %s, want %s", text, size, want)
		}
	}
	for _, text := range []string{"", "5", "MiB", "-5B", "5 MiB", "5mib", "5Mi", "1.5B", "99999999TiB", strings.Repeat("9", 400) + "B"} {
		var size spec.Size
		if err := size.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %s", text, size)
		}
	}
}

func TestStringsAreOneOrMany(t *testing.T) {
	for written, want := range map[string]spec.Strings{`"a"`: {"a"}, `["a","b"]`: {"a", "b"}} {
		var got spec.Strings
		if err := json.Unmarshal([]byte(written), &got); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || string(again) != written {
			t.Errorf("%s is read as %v and written as %s", written, got, again)
		}
	}
	var got spec.Strings
	if err := json.Unmarshal([]byte(`5`), &got); err == nil {
		t.Errorf("a number is read as %v", got)
	}
}

func TestNamesThatHideAPageAreReserved(t *testing.T) {
	for kind, name := range map[string]string{"job": "new", "dag": "new", "binary": "upload"} {
		if err := spec.ValidName(kind, name); err == nil || !strings.Contains(err.Error(), "is reserved") || !strings.Contains(err.Error(), "choose another name") {
			t.Errorf("a %s may be called %s: %v", kind, name, err)
		}
	}
	for kind, name := range map[string]string{"job": "upload", "binary": "new", "dag": "news", "alias": "new", "secret": "upload"} {
		if err := spec.ValidName(kind, name); err != nil {
			t.Errorf("%s %s: %v", kind, name, err)
		}
	}
	for _, text := range []string{"kind: Job\nname: new\nbinary: report\n", "kind: DAG\nname: new\ntasks:\n  a: {binary: report}\n"} {
		_, problems := spec.Decode("f.yaml", []byte(text))
		if len(problems) != 1 || problems[0].Path != "name" || problems[0].Line != 2 || !strings.Contains(problems[0].Message, "name is reserved") {
			t.Errorf("%q: %v", text, problems)
		}
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "Z9", "nightly-report_2", "9", strings.Repeat("x", 128)} {
		if err := spec.ValidName("job", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"":                       "job name is empty: use letters, digits, '-' and '_'",
		"a/b":                    "job name has a '/': use letters, digits, '-' and '_'",
		"a.b":                    "job name has a '.': use letters, digits, '-' and '_'",
		"a b":                    "job name has a space: use letters, digits, '-' and '_'",
		"a\n":                    "job name has a line break: use letters, digits, '-' and '_'",
		"é":                      "job name has a 'é': use letters, digits, '-' and '_'",
		"_a":                     "job name starts with '_': start with a letter or a digit",
		strings.Repeat("é", 300): "job name is 300 characters long: use at most 128",
	} {
		if err := spec.ValidName("job", name); err == nil || err.Error() != want {
			t.Errorf("%.20q: got %v, want %s", name, err, want)
		}
	}
}

func TestBinding(t *testing.T) {
	digest := strings.Repeat("0f", 32)
	for text, want := range map[string]spec.BinaryRef{
		"report":           {Name: "report"},
		"report@3":         {Name: "report", Version: 3},
		"report@stable":    {Name: "report", Alias: "stable"},
		"report@2nd":       {Name: "report", Alias: "2nd"},
		"sha256:" + digest: {Digest: digest},
	} {
		job := spec.Job{Binary: text}
		got, err := job.Binding()
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []string{"", "@1", "report@", "report@0", "report@01", "report@-1", "a@b@c", "sha256:", "sha256:" + strings.ToUpper(digest), "sha512:" + digest, "report@99999999999999999999"} {
		job := spec.Job{Binary: text}
		if got, err := job.Binding(); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestDefinitionCarriesAllOfTheSchedule(t *testing.T) {
	job := decodeOne(t, string(exampleYAML(t)))
	anchor := *instant(t, "2026-01-01T00:00:00Z")
	want := cron.Definition{
		Cron: []string{"0 3 * * *"}, Timezone: "Asia/Dhaka", Key: "key", Anchor: anchor,
		From: *job.Active.From, Until: *job.Active.Until,
		Exclude: []cron.Exclusion{{Cron: "0 3 25 12 *"}, {From: job.Exclude[1].From, To: job.Exclude[1].To}},
	}
	if diff := cmp.Diff(want, job.Definition("key", anchor)); diff != "" {
		t.Errorf("definition differs (-want +got):\n%s", diff)
	}
	at := decodeOne(t, head+"at: 2026-12-31T23:59:59Z\n").Definition("", anchor)
	after := decodeOne(t, head+"after: 10m\n").Definition("", anchor)
	every := decodeOne(t, head+"every: 90s\n").Definition("", anchor)
	if !at.At.Equal(*instant(t, "2026-12-31T23:59:59Z")) || after.After != 10*time.Minute || every.Every != 90*time.Second {
		t.Errorf("at %v, after %v, every %v", at.At, after.After, every.Every)
	}
}

// A job made in memory is judged like one that was read.
func TestValidateWithoutADocument(t *testing.T) {
	job := &spec.Job{Kind: "Job", Name: "a/b", Retry: spec.Retry{MaxAttempts: -1}, Payload: json.RawMessage("{"), Timeout: -1, Tier: "big"}
	var got []string
	for _, problem := range job.Validate() {
		got = append(got, problem.Path)
	}
	if diff := cmp.Diff([]string{"name", "binary", "payload", "tier", "timeout", "retry.max_attempts"}, got); diff != "" {
		t.Errorf("faulty fields differ (-want +got):\n%s", diff)
	}
	sound := &spec.Job{Kind: "Job", Name: "a", Binary: "b"}
	if problems := sound.Validate(); problems != nil {
		t.Errorf("a sound job has problems: %v", problems)
	}
}
