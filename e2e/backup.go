package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

// backups is how many are made of a server that works.
const backups = 3

// Backup makes backups of a server in the middle of its work, on the database at uri and an S3, and lets each be gone on
// with in a life of its own: on one of the databases that places name, or in a folder for "". It asks the programs
// themselves and the API whether any slot of such a life was lost or fired twice, any attempt was started twice, or any
// run or wave did not end.
func Backup(t *testing.T, binary, uri string, places [backups]string) {
	ctx := t.Context()
	journal := newJournal(t)
	s3, _ := S3(t, binary)
	server, api := witnessed(t, binary, append(PlaceFlags(uri, s3), "--lock-ttl", "2s")...)
	applied, err := api.Apply(ctx, []client.File{
		{Name: "jobs.yaml", Data: fmt.Appendf(nil, crashJobs, journal.path, journal.life)},
		{Name: "dag.yaml", Data: tide(journal, `schedule: "* * * * * *"`, `schedule: "*/3 * * * * *"`)},
	}, client.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(server.Data())
	var files []string
	for n := range backups {
		journal.read(t, linesBetween)
		files = append(files, filepath.Join(folder, fmt.Sprintf("%d.backup", n)))
		if out, exit := server.Command(ctx, "backup", files[n]); exit != 0 {
			t.Fatalf("backup: exit %d, %s", exit, out)
		}
	}
	journal.read(t, linesBetween)
	runs, waves := end(ctx, t, api, applied, journal)
	server.Stop()
	journal.awaitDeath(t, deathLimit)
	journal.readRest()
	server.Start()
	judgeAll(ctx, t, api, applied, journal.entries, runs, waves) // the backups were no trouble to anybody
	server.Stop()
	first := journal.entries
	for n, file := range files {
		journal.entries = nil
		s3["bucket"] = fmt.Sprintf("life-%d", n)
		args := PlaceFlags(places[n], s3)
		life := NewServer(t, binary, append(args, "--lock-ttl", "2s")...)
		if places[n] == "" {
			args = []string{"--data", life.Data()}
		}
		if out, exit := life.Command(ctx, append([]string{"restore", file}, args...)...); exit != 0 {
			t.Fatalf("restore: exit %d, %s", exit, out)
		}
		life.Start()
		api := life.Client()
		journal.read(t, linesBetween)
		runs, waves := end(ctx, t, api, applied, journal)
		life.Stop()
		journal.awaitDeath(t, deathLimit)
		journal.readRest()
		life.Start()
		judgeAll(ctx, t, api, applied, append(pastOf(first, journal.entries, runs), journal.entries...), runs, waves)
		everySlot(ctx, t, api)
		life.Stop()
		t.Logf("life %d: %d lines of the journal, %d runs, %d waves", n, len(journal.entries), len(runs), len(waves))
	}
}

// pastOf returns what a first life has written of what another life knows, without what the first life has done itself: it began
// before some of it.
func pastOf(first, own []entry, runs map[string]wire.Run) (past []entry) {
	type attempt struct {
		run string
		n   int
	}
	again := map[attempt]bool{}
	for _, e := range own {
		again[attempt{e.run, e.attempt}] = true
	}
	for _, e := range first {
		if run, known := runs[e.run]; known && e.attempt <= run.Attempt && !again[attempt{e.run, e.attempt}] {
			past = append(past, e)
		}
	}
	return past
}

// end lets no more be due, and returns all runs and waves once each has ended.
func end(ctx context.Context, t *testing.T, api *client.Client, applied wire.Applied, journal *journal) (map[string]wire.Run, []wire.Wave) {
	t.Helper()
	for _, item := range applied.Items {
		if item.Kind != "Job" {
			continue
		}
		if _, err := api.PauseJob(ctx, item.Name, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Apply(ctx, []client.File{{Name: "dag.yaml", Data: tide(journal, "", "")}}, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	waves := endedWaves(ctx, t, api)
	return settled(ctx, t, api), waves
}

// tide writes tideDAG with schedules of its roots, or none.
func tide(journal *journal, fast, slow string) []byte {
	return fmt.Appendf(nil, tideDAG, journal.path, journal.life, fast, slow)
}

// PlaceFlags name a database and an S3; without a database it is nothing.
func PlaceFlags(uri string, s3 map[string]string) []string {
	if uri == "" {
		return nil
	}
	flags := []string{"--mongodb-uri", uri}
	for flag, value := range s3 {
		flags = append(flags, "--s3-"+flag, value)
	}
	return flags
}
