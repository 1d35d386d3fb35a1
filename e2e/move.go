package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

// Move takes a server in the middle of its work from a folder to MongoDB and an S3, with a queue that knows nothing of it,
// and back to another folder, and asks the programs themselves and the API whether any slot was lost or run twice, and
// whether any attempt was started twice. After each move, compare looks at what is in the folder's store and in the
// database at uri.
func Move(t *testing.T, binary, uri string, compare func(store string)) {
	ctx := t.Context()
	journal := newJournal(t)
	server, api := witnessed(t, binary, "--lock-ttl", "2s")
	applied, err := api.Apply(ctx, []client.File{
		{Name: "jobs.yaml", Data: fmt.Appendf(nil, crashJobs, journal.path, journal.life)},
		{Name: "dag.yaml", Data: tide(journal, `schedule: "* * * * * *"`, `schedule: "*/3 * * * * *"`)},
	}, client.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	journal.read(t, linesBetween)
	server.Stop()

	s3, _ := S3(t, binary)
	there := []string{"--to-mongodb", uri}
	back := []string{"--from-mongodb", uri}
	for flag, value := range s3 {
		there, back = append(there, "--to-s3-"+flag, value), append(back, "--from-s3-"+flag, value)
	}
	data, last := server.Data(), filepath.Join(filepath.Dir(server.Data()), "back")
	migrate := func(words string, args ...string) {
		t.Helper()
		out, exit := server.Command(ctx, append([]string{"migrate", "-o", "json"}, args...)...)
		var moved struct {
			Documents, Objects int64
			Already            bool
		}
		if err := json.Unmarshal([]byte(out), &moved); err != nil || exit != 0 {
			t.Fatalf("%s: exit %d, %q", words, exit, out)
		}
		if moved.Already != (words == "again") || !moved.Already && (moved.Documents == 0 || moved.Objects == 0) {
			t.Errorf("%s: %+v", words, moved)
		}
	}
	migrate("there", append([]string{"--from", data}, there...)...)
	compare(filepath.Join(data, "store", "tidewheel.db"))
	migrate("again", append([]string{"--from", data}, there...)...)
	if out, exit := server.Command(ctx, "server", "--data", data, "--http", freeAddress(t)); exit != 2 {
		t.Errorf("a server starts where everything was moved away: exit %d, %s", exit, out)
	}

	place := PlaceFlags(uri, s3)
	moved := NewServer(t, binary, append(place, "--lock-ttl", "2s")...)
	moved.Start()
	journal.read(t, linesBetween)
	saved := filepath.Join(filepath.Dir(data), "all.backup")
	moved.Stop()
	other := filepath.Join(filepath.Dir(data), "other")
	for _, args := range [][]string{append([]string{"backup", saved}, place...), {"restore", saved, "--data", other}} {
		if out, exit := moved.Command(ctx, args...); exit != 0 {
			t.Fatalf("%s: exit %d, %s", args[0], exit, out)
		}
	}
	compare(filepath.Join(other, "store", "tidewheel.db"))
	migrate("back", append(back, "--to", last)...)
	compare(filepath.Join(last, "store", "tidewheel.db"))

	home := NewServer(t, binary, "--lock-ttl", "2s")
	home.args[2] = last
	home.Start()
	api = home.Client()
	journal.read(t, linesBetween)
	runs, waves := end(ctx, t, api, applied, journal)
	home.Stop()
	journal.awaitDeath(t, deathLimit)
	journal.readRest()
	home.Start()

	judgeAll(ctx, t, api, applied, journal.entries, runs, waves)
	for id, run := range runs {
		if run.Attempt == 1 {
			continue
		}
		whole, err := api.Run(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, attempt := range whole.Attempts[:max(0, len(whole.Attempts)-1)] {
			if !attempt.StartedAt.IsZero() || !strings.HasSuffix(attempt.Error, "was shut down") { // else it was handed back before it began
				t.Errorf("run %s took %d attempts, attempt %d is %s: %q: the moves have lost some", id, run.Attempt, attempt.N, attempt.Status, attempt.Error)
			}
		}
	}
	t.Logf("%d lines of the journal, %d runs, %d waves, 2 moves", len(journal.entries), len(runs), len(waves))
}

// judgeAll compares what the programs of crashJobs and tideDAG wrote with all that the API says.
func judgeAll(ctx context.Context, t *testing.T, api *client.Client, applied wire.Applied, entries []entry, runs map[string]wire.Run, waves []wire.Wave) {
	t.Helper()
	ofJobs := verdict{t: t, runs: maps.Clone(runs)}
	maps.DeleteFunc(ofJobs.runs, func(_ string, run wire.Run) bool { return run.DAG != "" })
	ofWaves := waveVerdict{t: t, runs: maps.Clone(runs), waves: map[string]wire.WaveDetail{}}
	maps.DeleteFunc(ofWaves.runs, func(_ string, run wire.Run) bool { return run.DAG == "" })
	for _, e := range entries {
		if _, is := ofWaves.runs[e.run]; is {
			ofWaves.entries = append(ofWaves.entries, e)
		} else {
			ofJobs.entries = append(ofJobs.entries, e)
		}
	}
	for _, wave := range waves {
		detail, err := api.Wave(ctx, wave.ID)
		if err != nil {
			t.Fatal(err)
		}
		ofWaves.waves[wave.ID] = detail
	}
	ofJobs.starts()
	for _, item := range applied.Items {
		if item.Kind == "Job" {
			ofJobs.ledger(ctx, api, item.Name)
		}
	}
	ofWaves.edges()
	ofWaves.ends()
	ofWaves.epochs()
}

// Data is the server's folder.
func (s *Server) Data() string { return s.args[2] }

// S3 starts another server for its S3, and returns the flags' values by which it is reached, in a bucket of its own, and
// the folder that holds its buckets.
func S3(t *testing.T, binary string) (flags map[string]string, folder string) {
	t.Helper()
	address := freeAddress(t)
	other := NewServer(t, binary, "--s3-listen", address)
	other.Start()
	text, err := os.ReadFile(filepath.Join(other.Data(), "s3.json"))
	if err != nil {
		t.Fatal(err)
	}
	var keys struct {
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"endpoint": "http://" + address, "bucket": "house", "access-key": keys.AccessKey, "secret-key": keys.SecretKey,
	}, filepath.Join(other.Data(), "s3")
}
