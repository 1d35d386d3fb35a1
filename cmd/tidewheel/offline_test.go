package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// summer is when the offline commands are called in these tests.
var summer = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestNextSaysGapsAndRepeatsInWords(t *testing.T) {
	c := newTestCLI(t)
	c.now = summer
	golden(t, "next", c.transcript("",
		[]string{"next", "0 3 * * *", "-c", "2"},
		[]string{"next", "30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28", "-c", "2"},
		[]string{"next", "0 * * * *", "--tz", "Europe/Berlin", "--after", "2026-10-25T00:30:00+02:00", "-c", "4"},
		[]string{"next", "@every 90s", "-c", "2"},
		[]string{"next", "@daily", "-c", "1", "-o", "yaml"},
		[]string{"next", "0 0 30 2 *"},
		[]string{"next", "@every 0s"},
		[]string{"next", "@every soon"},
		[]string{"next", ""},
		[]string{"next", " "},
		[]string{"next", "61 * * * *"},
		[]string{"next", "* * * * *", "--tz", "Mars/Olympus"},
		[]string{"next", "* * * * *", "-c", "0"},
		[]string{"next", "* * * * *", "--after", "soon"},
		[]string{"next"},
	))
}

func TestNextJSONHasTheSurfacesFields(t *testing.T) {
	c := newTestCLI(t)
	c.now = summer
	var preview wire.Preview
	if err := json.Unmarshal([]byte(c.must("next", "30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00:00Z", "-c", "1", "-o", "json")), &preview); err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	if len(preview.Items) != 1 || !preview.Items[0].Slot.Equal(want) || preview.Items[0].Slot.Location() != time.UTC {
		t.Fatalf("slots %+v, want %s", preview.Items, want)
	}
	if local := preview.Items[0].Local.Format(time.RFC3339); local != "2026-03-29T03:00:00+02:00" {
		t.Errorf("local is %s", local)
	}
	if !strings.Contains(preview.Items[0].Note, "does not exist") {
		t.Errorf("the note does not tell the gap: %q", preview.Items[0].Note)
	}
}

func TestValidateReportsEveryFaultWithItsPosition(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"good.yaml": "kind: Job\nname: report\nbinary: report@stable\nschedule: \"0 3 * * *\"\ntimezone: Asia/Dhaka\n",
		"bad.yaml": "kind: Job\nname: a/b\nbinary: report\nfoo: 1\nschedule: \"61 * * * *\"\n---\nkind: Job\nname: never\nbinary: report\n" +
			"schedule: \"0 0 30 2 *\"\ntimezone: Mars/Olympus\n",
		"twice/one.yaml":   "kind: Job\nname: report\nbinary: report\n",
		"twice/two.yml":    "kind: Job\nname: report\nbinary: report\n",
		"twice/notes.json": "{\"not\": \"a job\"}",
		"empty.yaml":       "# nothing\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := newTestCLI(t)
	c.now = summer
	text := c.transcript("kind: Job\nname: piped\nbinary: report\nevery: 90s\n",
		[]string{"validate", "-f", "good.yaml"},
		[]string{"validate", "-f", "bad.yaml"},
		[]string{"validate", "-f", "bad.yaml", "-o", "json"},
		[]string{"validate", "-f", "twice"},
		[]string{"validate", "-f", "-"},
		[]string{"validate", "-f", "empty.yaml"},
		[]string{"validate", "-f", "missing.yaml"},
		[]string{"validate"},
	)
	t.Chdir(packageFolder)
	golden(t, "validate", text)
}

// packageFolder is where the tests of this package begin.
var packageFolder = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()

func TestConfigShowListsTheSourceOfEachSetting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tidewheel.yaml")
	if err := os.WriteFile(file, []byte("tier: light\nslots: 3\nretention: 7d\nauth: on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TIDEWHEEL_SLOTS", "5")
	t.Setenv("TIDEWHEEL_RETENTION", "14d")
	t.Setenv("TIDEWHEEL_S3_SECRET_KEY", "do not show")
	t.Setenv("TIDEWHEEL_S3_ACCESS_KEY", "key")
	t.Setenv("TIDEWHEEL_S3_ENDPOINT", "http://127.0.0.1:9000") // keys without it are refused
	c := newTestCLI(t)
	text := c.must("config", "show", "--config", file, "--slots", "7", "--mongodb-uri", "mongodb://me:hidden@db/tide")
	if strings.Contains(text, "do not show") || strings.Contains(text, "hidden") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	for _, want := range [][3]string{
		{"slots", "7", "flag"}, {"retention", "14d", "environment"}, {"tier", "light", "file"}, {"http", defaultHTTP, "default"},
		{"s3-secret-key", "(set)", "environment"}, {"mongodb-uri", "mongodb://me:(secret)@db/tide", "flag"},
	} {
		found := false
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			found = found || len(words) == 3 && words[0] == want[0] && words[1] == want[1] && words[2] == want[2]
		}
		if !found {
			t.Errorf("no line %v in:\n%s", want, text)
		}
	}
}

func TestBadUsageIsRefusedWithWords(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe") // no process writes to it: opening it blocks for ever
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := newTestCLI(t)
	data := []string{"server", "--data", filepath.Join(dir, "data")}
	with := func(flags ...string) []string { return append(append([]string(nil), data...), flags...) }
	for _, call := range []struct {
		words string
		args  []string
	}{
		{"no command", []string{"frobnicate"}},
		{"did you mean `tidewheel server`", []string{"serve"}},
		{"no command of `tidewheel binary`", []string{"binary", "upload"}},
		{"unknown flag", []string{"server", "--port", "80"}},
		{"--output \"xml\"", []string{"version", "-o", "xml"}},
		{"allowed on loopback only", with("--auth", "off", "--http", "0.0.0.0:0")},
		{"allowed on loopback only", with("--auth", "off", "--http", ":0")},
		{"use on or off", with("--auth", "maybe")},
		{"not host:port", with("--http", "8080")},
		{"no role", with("--roles", "engine,cook")},
		{"stands there twice", with("--roles", "engine,engine")},
		{"give --nats-url", with("--roles", "executor")},
		{"give --s3-endpoint", with("--roles", "executor", "--nats-url", "nats://127.0.0.1:1")},
		{"give --mongodb-uri", with("--roles", "engine")},
		{"needs their public keys", with("--roles", "executor", "--nats-url", "nats://127.0.0.1:1", "--s3-endpoint", "http://127.0.0.1:1")},
		{"say the same thing", with("--task-keys-file", "a", "--task-keys-command", "b")},
		{"there is no file nowhere", []string{"task-key", "public", "nowhere"}},
		{"prints the text of a file", []string{"task-key", "new", "-o", "json"}},
		{"no tier", with("--tier", "huge")},
		{"is one server and keeps one copy", []string{"config", "show", "--nats-replicas", "3"}},
		{"has no logins", []string{"config", "show", "--nats-credentials", "tide:hush"}},
		{"no token is needed", []string{"config", "show", "--auth", "off", "--token-file", "token"}},
		{"/metrics needs no token", []string{"config", "show", "--metrics-auth", "off", "--metrics-token-file", "token"}},
		{"no address is bounded", []string{"config", "show", "--connections-per-address", "0", "--requests-per-second", "0", "--trusted-proxies", "10.0.0.0/8"}},
		{"no output outlives its run", []string{"config", "show", "--retention-output", "60d"}},
		{"is no duration", []string{"config", "show", "--retention-output", "-1h"}},
		{"no dead letter outlives its run", []string{"config", "show", "--retention-dead-letters", "60d"}},
		{"as long as --retention keeps them", []string{"config", "show", "--retention-generations", "7d"}},
		{"whose form --log-format says", with("-o", "json")},
		{"--output is for lists", []string{"logs", "report", "-o", "json"}},
		{"--output is for lists", []string{"artifacts", "run", "totals.csv", "-o", "json"}},
		{"--output is for lists", []string{"artifacts", "run", "-d", dir, "-o", "json"}},
		{"--output is for lists", []string{"export", "-f", dir, "-o", "json"}},
		{"--output is for lists", []string{"binary", "pull", "report", "-", "-o", "json"}},
		{"--output is for lists", []string{"restore", "all.backup", "-o", "json"}},
		{"of an S3 that --s3-endpoint names", []string{"restore", "all.backup", "--s3-bucket", "mine"}},
		{"of an S3 that --to-s3-endpoint names", []string{"migrate", "--from", dir, "--to", dir, "--to-s3-region", "eu-north-1"}},
		{"count from 1", []string{"logs", "report", "--tail", "0"}},
		{"count from 1", []string{"logs", "report", "--attempt", "0"}},
		{"--slots -1", with("--slots", "-1")},
		{"belong together", with("--s3-access-key", "a", "--s3-endpoint", "http://127.0.0.1:9000")},
		{"no duration", with("--retention", "30x")},
		{"--max-binary", with("--max-binary", "lots")},
		{"--log-level", with("--log-level", "loud")},
		{"mongodb://", with("--mongodb-uri", "localhost:27017")},
		{"not a URL", with("--s3-endpoint", "localhost:9000")},
		{"no file", with("--config", filepath.Join(dir, "missing.yaml"))},
		{"\"slot\" is no setting", with("--config", write("typo.yaml", "slot: 3\n"))},
		{"cannot be read", with("--config", write("broken.yaml", "slots: [\n"))},
		{"no whole number", with("--config", write("word.yaml", "slots: many\n"))},
		{"is a folder", []string{"binary", "push", "report", dir}},
		{"is empty", []string{"binary", "push", "report", write("empty", "")}},
		{"no file", []string{"binary", "push", "report", filepath.Join(dir, "missing")}},
		{"is a device", []string{"binary", "push", "report", os.DevNull}},
		{"is a pipe and no regular file: give a file, or -", []string{"binary", "push", "report", pipe}},
		{"is a socket", []string{"binary", "push", "report", socket.Addr().String()}},
		{"has a '/'", []string{"binary", "push", "a/b", write("program", "#!/bin/sh\n")}},
		{"not JSON", []string{"run", "report", "--payload", "hello"}},
		{"NAME=VALUE", []string{"run", "report", "--arg", "x"}},
		{"neither a time", []string{"run", "report", "--at", "later"}},
		{"neither a duration", []string{"get", "runs", "--since", "ever"}},
		{"--until: ", []string{"get", "waves", "--until", "ever"}},
		{"add --dag", []string{"get", "runs", "--task", "load"}},
		{"no order", []string{"get", "jobs", "--order", "size"}},
		{"--order does not narrow runs", []string{"get", "runs", "--order", "name"}},
		{"no status", []string{"get", "runs", "--status", "great"}},
		{"cannot be listed", []string{"get", "pods"}},
		{"one of paused, failing, late", []string{"get", "jobs", "--status", "paused,late"}},
		{"not \"running\"", []string{"get", "jobs", "--status", "running"}},
		{"DAGs are one of paused, failing, running", []string{"get", "dags", "--status", "late"}},
		{"--job does not narrow jobs", []string{"get", "jobs", "--job", "report"}},
		{"always all listed", []string{"get", "executors", "--status", "silent"}},
		{"--status does not narrow binaries, only --limit", []string{"get", "binaries", "--status", "failed"}},
		{"leave the name out", []string{"get", "run", "x", "--status", "failed"}},
		{"takes jobs", []string{"pause", "run", "x"}},
		{"required flag", []string{"backfill", "report"}},
		{"or say --all", []string{"dlq", "purge"}},
		{"no version", []string{"binary", "alias", "report", "stable", "new"}},
	} {
		c.refused(exitRefused, call.words, call.args...)
	}
}

func TestUnreachableServerHasItsOwnStatus(t *testing.T) {
	c := newTestCLI(t)
	c.env["TIDEWHEEL_URL"] = "http://127.0.0.1:1"
	c.refused(exitUnreachable, "is the server running", "get", "jobs")
	c.refused(exitUnreachable, "is the server running", "run", "report", "--wait")
	c.refused(exitFailed, "check failed", "doctor", "--data", t.TempDir(), "--http", "127.0.0.1:0")
}

func TestInstantsAndSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "30d": 720 * time.Hour, "2w": 336 * time.Hour, "1.5d": 36 * time.Hour, "0": 0} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("parseSpan(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1h", "-3d", "5", "1e300d", "NaNd", "x"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("parseSpan(%q) = %s, want an error", text, got)
		}
	}
	at, err := parseSince("7d", summer)
	if err != nil || !at.Equal(summer.Add(-7*24*time.Hour)) {
		t.Errorf("7d ago is %s, %v", at, err)
	}
	c := &cli{now: func() time.Time { return summer }}
	for span, want := range map[time.Duration]string{
		0: "now", 4 * time.Second: "4s ago", -90 * time.Second: "in 1m30s", 26 * time.Hour: "26h ago", 50 * time.Hour: "2d2h ago",
	} {
		if got := c.ago(summer.Add(-span)); got != want {
			t.Errorf("%s ago is %q, want %q", span, got, want)
		}
	}
}

func TestWaveTookLeavesOutTheTimeBeforeAResume(t *testing.T) {
	c := &cli{now: func() time.Time { return summer }}
	wave := wire.Wave{StartedAt: summer.Add(-9 * time.Hour), Rests: []wire.WaveRest{{From: summer.Add(-8 * time.Hour), To: summer.Add(-time.Hour)}}}
	if got := c.waveTook(&wave); got != "2h" {
		t.Errorf("an open wave has taken %s, want 2h", got)
	}
	wave.FinishedAt = summer.Add(-30 * time.Minute)
	if got := c.waveTook(&wave); got != "1h30m" {
		t.Errorf("a wave took %s, want 1h30m", got)
	}
}
