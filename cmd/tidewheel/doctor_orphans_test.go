package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/storetest"
)

func TestDoctorFindsAndRemovesOrphans(t *testing.T) {
	ctx := t.Context()
	config := placeConfig{names: placeNames{"data", "mongodb-uri", "s3"}, data: filepath.Join(t.TempDir(), "data")}
	p, err := openPlace(ctx, config, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() { _ = p.close(context.WithoutCancel(ctx)) })
	store, _ := p.documents.(store)
	push := func(text string) string {
		_, err := p.objects.PutBinary(ctx, strings.NewReader(text), blob.PutOptions{MaxSize: 1000})
		must(t, err)
		digest := sha256.Sum256([]byte(text))
		return hex.EncodeToString(digest[:])
	}
	used, unused, lost := push("#!/bin/sh\n# used\n"), push("#!/bin/sh\n# unused\n"), push("#!/bin/sh\n# lost\n")
	must(t, p.objects.DeleteBinary(ctx, lost))
	must(t, store.CreateBinary(ctx, engine.Binary{Namespace: "default", Name: "tool", Revision: 1, Versions: []engine.BinaryVersion{
		{N: 1, SHA256: used}, {N: 2, SHA256: lost},
	}}))
	now := time.Now()
	var batch engine.Batch
	artifact := func(run string, stored, named bool) {
		if stored {
			content := strings.NewReader("a,b\n")
			_, err := p.objects.PutArtifact(ctx, run, 1, "report.csv", io.NewSectionReader(content, 0, 4))
			must(t, err)
		}
		if named {
			batch.Runs = append(batch.Runs, engine.Run{
				ID: run, Revision: 1, Namespace: "default", JobUID: "job", Job: "job", Shard: engine.ShardOf("job"), Status: engine.StatusSucceeded,
				Tier: spec.TierLight, CreatedAt: now, FinishedAt: now, Artifacts: []engine.Artifact{{Name: "report.csv", Size: 4, SHA256: used}},
			})
		}
	}
	artifact("job-s1", true, true)
	artifact("job-s2", true, false)
	artifact("job-s3", false, true)
	writer, err := p.objects.NewLogWriter(ctx, "job-s4", 1)
	must(t, err)
	_, err = writer.Write([]byte(strings.Repeat("a line of output\n", 1000)))
	must(t, err)
	_, err = writer.Close()
	must(t, err)
	must(t, storetest.Write(ctx, store.(storetest.Commits), batch))

	shown := func(found []orphan) (words []string) {
		for _, one := range found {
			side := "document"
			if one.Remove {
				side = "object"
			}
			words = append(words, one.Kind+" "+one.ID+" "+side)
		}
		slices.Sort(words)
		return words
	}
	search := &orphanSearch{store: store, history: store, blobs: p.objects, now: now}
	found, err := search.find(ctx)
	must(t, err)
	young := []string{"artifacts job-s3 document", "binary " + lost + " document"}
	slices.Sort(young)
	if got := shown(found); !slices.Equal(got, young) {
		t.Errorf("of objects that were just written it found %v, want only %v", got, young)
	}
	search.now = now.Add(2 * orphanGrace)
	found, err = search.find(ctx)
	must(t, err)
	want := append([]string{"artifacts job-s2 object", "binary " + unused + " object", "output job-s4 object"}, young...)
	slices.Sort(want)
	if got := shown(found); !slices.Equal(got, want) {
		t.Errorf("it found %v, want %v", got, want)
	}
	removed, err := search.repair(ctx, found)
	must(t, err)
	if removed != 3 {
		t.Errorf("%d were removed, want 3", removed)
	}
	found, err = search.find(ctx)
	must(t, err)
	if got := shown(found); !slices.Equal(got, young) {
		t.Errorf("after the repair it found %v, want %v", got, young)
	}
	if there, err := p.objects.HasBinary(ctx, used); err != nil || !there {
		t.Errorf("a program that is used is gone, %v", err)
	}
}

func TestDoctorRepairsTheFolderOfAStoppedServer(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("used", "echo used\n")
	s.push("unused", "echo unused\n")
	s.must("binary", "rm", "unused", "--yes")
	data := s.server.config.Data
	s.refused(exitRefused, "another tidewheel server uses", "doctor", "--orphans", "--data", data)
	closeNode(t, s.server)

	s.now = time.Now().Add(2 * orphanGrace)
	doctor := func(args ...string) result {
		t.Helper()
		return s.run(append([]string{"doctor", "--orphans", "--data", data}, args...)...)
	}
	if got := doctor(); got.status != exitFailed || !strings.Contains(got.out, "1 orphan, 0 removed") || !strings.Contains(got.out, "binary") {
		t.Errorf("it shows %+v", got)
	}
	if got := doctor("--repair"); got.status != 0 || !strings.Contains(got.out, "1 orphan, 1 removed") {
		t.Errorf("it repairs %+v", got)
	}
	if got := doctor(); got.status != 0 || !strings.Contains(got.out, "0 orphans, 0 removed") {
		t.Errorf("after the repair %+v", got)
	}
	s.refused(exitRefused, "--repair: of --orphans", "doctor", "--repair", "--data", data)
	s.refused(exitRefused, "name the data folder", "doctor", "--orphans", "--data", filepath.Join(data, "none"))
}
