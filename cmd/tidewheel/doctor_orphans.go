package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/certs"
)

// orphanGrace is how old an object must be to count as one that no document names: what is being uploaded has none yet.
const orphanGrace = 24 * time.Hour

// orphan is something of which the other half is not there.
type orphan struct {
	Kind   string `json:"kind"` // binary, output or artifacts
	ID     string `json:"id"`   // a digest, or a run
	Detail string `json:"detail"`
	Remove bool   `json:"remove"` // an object that --repair removes; otherwise a document whose object is missing
}

// orphanSearch looks at a store and a bucket.
type orphanSearch struct {
	store   expirer
	history interface {
		Runs(ctx context.Context, filter engine.RunFilter) ([]engine.Run, string, error)
	}
	blobs  *blob.Store
	output time.Duration // how long the server keeps what runs have in S3, where nothing else is said; 0 as long as the run
	now    time.Time
}

// orphans compares the documents and objects of the place that the settings name. With repair it removes objects that no
// document names.
func (c *cli) orphans(ctx context.Context, config *ServerConfig, repair bool) error {
	if _, err := os.Stat(config.Data); err != nil && (config.MongoURI == "" || config.S3Endpoint == "") {
		return usage("--orphans: %w: name the data folder of the server by --data, or its MongoDB and S3", err)
	}
	where := placeConfig{names: placeNames{"data", "mongodb-uri", "s3"}, mongoURI: config.MongoURI, s3: blob.Config{
		Endpoint: config.S3Endpoint, Bucket: config.S3Bucket, Region: config.S3Region, AccessKey: config.S3AccessKey, SecretKey: config.S3SecretKey, PathStyle: true,
	}}
	if config.MongoURI == "" || config.S3Endpoint == "" {
		where.data = config.Data // its lock keeps a server out meanwhile
	}
	if config.S3CAFile != "" {
		pool, err := certs.Authorities(config.S3CAFile)
		if err != nil {
			return usage("--s3-ca-file: %w", err)
		}
		where.s3.Trusted = func() *x509.CertPool { return pool }
	}
	p, err := openPlace(ctx, where, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = p.close(ctx) }() // what was found is what counts
	store, ok := p.documents.(store)
	if !ok {
		return errors.New("this store cannot be searched for orphans")
	}
	search := &orphanSearch{store: store, history: store, blobs: p.objects, output: config.RetentionOutput, now: c.now()}
	found, err := search.find(ctx)
	if err != nil {
		return err
	}
	removed := 0
	if repair {
		if removed, err = search.repair(ctx, found); err != nil {
			return err
		}
	}
	left := len(found) - removed
	err = c.print(map[string]any{"items": found, "removed": removed}, func(w io.Writer) {
		t := newTable(w, "KIND", "OF", "WHAT")
		for i := range found {
			t.row(found[i].Kind, found[i].ID, found[i].Detail)
		}
		t.flush()
		fmt.Fprintf(w, "%s, %d removed.\n", count(len(found), "orphan"), removed)
	})
	if err == nil && left > 0 {
		err = &outcomeError{count(left, "orphan") + " left"}
	}
	return err
}

// find returns what is there of one side only: objects that no document names, older than the grace time, then documents that
// name objects which are not there.
func (s *orphanSearch) find(ctx context.Context) (found []orphan, err error) {
	before := s.now.Add(-orphanGrace)
	gone := func(ctx context.Context, ids []string) (map[string]time.Time, error) {
		known, err := s.known(ctx, ids)
		gone := make(map[string]time.Time, len(ids))
		for _, id := range ids {
			if !known[id] {
				gone[id] = before
			}
		}
		return gone, err
	}
	for _, of := range []struct {
		folder blob.Folder
		kind   string
	}{{blob.Logs, "output"}, {blob.Artifacts, "artifacts"}} {
		runs, err := s.blobs.UnwantedRuns(ctx, of.folder, gone)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			found = append(found, orphan{of.kind, run, "objects without a run: --repair removes them", true})
		}
	}
	stored, err := s.blobs.StoredBinaries(ctx, before)
	if err != nil {
		return nil, err
	}
	used, err := s.used(ctx, stored)
	if err != nil {
		return nil, err
	}
	for _, digest := range stored {
		if !used[digest] {
			found = append(found, orphan{"binary", digest, "a program that nothing refers to: --repair removes it", true})
		}
	}
	missing, err := s.missing(ctx)
	return append(found, missing...), err
}

func (s *orphanSearch) known(ctx context.Context, ids []string) (map[string]bool, error) {
	runs, err := s.store.RunsByID(ctx, ids)
	known := map[string]bool{}
	for i := range runs {
		known[runs[i].ID] = true
	}
	return known, err
}

// janitor looks at the store as retention does.
func (s *orphanSearch) janitor() *janitor {
	return &janitor{
		store: s.store, namespaces: access.NewNamespaces(s.store, time.Now), owns: func(int) bool { return true }, now: time.Now,
		breath: noBreath,
	}
}

// used reports which programs are referred to, as the sweep of retention sees it.
func (s *orphanSearch) used(ctx context.Context, digests []string) (map[string]bool, error) {
	return s.janitor().usedBinaries(ctx, digests)
}

// missing finds versions of binaries without their bytes, and runs without the output or artifacts that they name.
func (s *orphanSearch) missing(ctx context.Context) (found []orphan, err error) {
	for cursor := ""; ; {
		binaries, next, err := s.store.Binaries(ctx, "", cursor, janitorBatch)
		if err != nil {
			return nil, err
		}
		for i := range binaries {
			for _, version := range binaries[i].Versions {
				there, err := s.blobs.HasBinary(ctx, version.SHA256)
				if err != nil {
					return nil, err
				}
				if !there {
					words := fmt.Sprintf("%s/%s version %d names it, and it is not in S3: push the same file again, or restore it", binaries[i].Namespace, binaries[i].Name, version.N)
					found = append(found, orphan{"binary", version.SHA256, words, false})
				}
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	there := map[blob.Folder]map[string]bool{}
	for _, folder := range []blob.Folder{blob.Logs, blob.Artifacts} {
		there[folder] = map[string]bool{}
		if err := s.blobs.Objects(ctx, folder, func(object blob.Object) error {
			run, _, _ := strings.Cut(strings.TrimPrefix(object.Key, string(folder)), "/")
			there[folder][run] = true
			return nil
		}); err != nil {
			return nil, err
		}
	}
	rules, err := s.janitor().readRules(ctx)
	if err != nil {
		return nil, err
	}
	for filter := (engine.RunFilter{Limit: janitorBatch}); ; {
		runs, next, err := s.history.Runs(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range runs {
			run := &runs[i]
			if age := rules.outputAge(run, s.output); age > 0 && endedBefore(run, s.now.Add(-age)) {
				continue // retention removes it
			}
			stored := false
			for k := range run.Attempts {
				stored = stored || run.Attempts[k].Output != nil && run.Attempts[k].Output.Chunks > 0
			}
			if stored && !there[blob.Logs][run.ID] {
				found = append(found, orphan{"output", run.ID, "the run names it, and it is not in S3: restore it; it goes with the run", false})
			}
			if len(run.Artifacts) > 0 && !there[blob.Artifacts][run.ID] {
				found = append(found, orphan{"artifacts", run.ID, "the run names them, and they are not in S3: restore them; they go with the run", false})
			}
		}
		if filter.Cursor = next; next == "" {
			return found, nil
		}
	}
}

// repair removes the objects among orphans, after another look at what refers to them, and returns how many.
func (s *orphanSearch) repair(ctx context.Context, found []orphan) (removed int, err error) {
	for i := range found {
		one := &found[i]
		if !one.Remove {
			continue
		}
		again := s.used
		remove := s.blobs.DeleteBinary
		if one.Kind != "binary" {
			again = s.known
			remove = func(ctx context.Context, run string) error {
				_, err := s.blobs.DeleteLogs(ctx, run)
				if one.Kind == "artifacts" {
					_, err = s.blobs.DeleteArtifacts(ctx, run)
				}
				return err
			}
		}
		if wanted, err := again(ctx, []string{one.ID}); err != nil || wanted[one.ID] {
			if err != nil {
				return removed, err
			}
			continue
		}
		if err := remove(ctx, one.ID); err != nil {
			return removed, err
		}
		one.Detail = "removed"
		removed++
	}
	return removed, nil
}
