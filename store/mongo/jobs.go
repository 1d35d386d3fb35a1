package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

func jobID(namespace, name string) string { return namespace + "/" + name }

// jobIs is the condition that a stored job is this revision of this job.
func jobIs(uid string, revision int64) bson.D {
	return append(bson.D{{Key: "uid", Value: uid}}, revisionOf(revision)...)
}

// Job gives a living job by name; engine.ErrNotFound.
func (s *Store) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	job, err := one[jobDocument](ctx, s.jobs, append(byID(jobID(namespace, name)), bson.E{Key: "deleted", Value: false}))
	return job, s.failed("read job "+jobID(namespace, name), err)
}

// JobsByUID gives those jobs that exist, tombstones included, in no order.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	jobs, err := listAmong[jobDocument](ctx, s.jobs, "uid", uids, nil, s.config.BulkSize)
	if err != nil {
		return nil, s.failed("read jobs", err)
	}
	tombs, err := s.buriedByUID(ctx, uids, jobs)
	return append(jobs, tombs...), s.failed("read jobs", err)
}

// PendingJobs gives jobs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	filter := append(among("shard", shards), bson.E{Key: "pending", Value: true})
	jobs, err := list[jobDocument](ctx, s.jobs, filter, options.Find().SetLimit(int64(max(limit, 0))))
	if err != nil || limit > 0 && len(jobs) >= limit {
		return jobs, s.failed("read pending jobs", err)
	}
	tombs, err := s.buriedPending(ctx, shards, jobs)
	if limit > 0 && len(tombs) > limit-len(jobs) {
		tombs = tombs[:limit-len(jobs)]
	}
	return append(jobs, tombs...), s.failed("read pending jobs", err)
}

// CreateJob inserts a job of revision 1; engine.ErrExists if a living job has the name. A tombstone of its name is moved
// out of its way and stays until it is handled. The job's document is its first generation, so that one write does it
// all.
func (s *Store) CreateJob(ctx context.Context, job engine.Job) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	operation := "create job " + job.Key()
	mine, err := newJobDocument(&job)
	if err != nil {
		return s.failed(operation, err)
	}
	raw, err := bson.Marshal(mine)
	if err != nil {
		return s.failed(operation, err)
	}
	// A uid is never made twice: a stored job with it is this one.
	ours := func(stored bson.Raw) (bool, error) {
		uid, _ := stored.Lookup("uid").StringValueOK()
		return uid == job.UID, nil
	}
	there, err := s.insert(ctx, s.jobs, change{id: mine.ID, document: raw}, ours)
	if err != nil || !there {
		return s.failed(operation, err)
	}
	found, err := s.jobDocument(ctx, mine.ID)
	if err != nil {
		return s.failed(operation, err)
	}
	if found == nil || !found.Deleted { // nil: it went away this moment; whoever wants the name asks again
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrExists)
	}
	tomb := *found
	if err := s.bury(ctx, tomb); err != nil {
		return s.failed(operation, err)
	}
	over := change{
		id: mine.ID, document: raw, first: stepReplace,
		condition: append(jobIs(tomb.UID, tomb.Revision), bson.E{Key: "deleted", Value: true}),
	}
	refused, err := s.settle(ctx, s.jobs, []change{over}, func(_ int, stored bson.Raw) (step, error) {
		now, err := parseJob(stored)
		switch {
		case err != nil:
			return 0, err
		case now == nil: // the engine has just removed the tombstone
			return stepInsert, nil
		case now.UID == job.UID:
			return stepDone, nil
		case now.UID == tomb.UID && now.Revision == tomb.Revision:
			return stepReplace, nil
		}
		return stepRefused, nil
	})
	if err != nil {
		return s.failed(operation, err)
	}
	if len(refused) > 0 {
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrExists)
	}
	return nil
}

// ReplaceJob writes a job on condition that the stored one has its UID and the revision before; engine.ErrConflict, or
// engine.ErrNotFound if it is gone. The form that an edit replaces is kept first, as it is stored: so generations
// never holds a form that lost a race, and a crash in between leaves nothing to repair.
func (s *Store) ReplaceJob(ctx context.Context, job engine.Job) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	operation := "replace job " + job.Key()
	mine, err := newJobDocument(&job)
	if err != nil {
		return s.failed(operation, err)
	}
	raw, err := bson.Marshal(mine)
	if err != nil {
		return s.failed(operation, err)
	}
	found, err := s.jobDocument(ctx, mine.ID)
	switch {
	case err != nil:
		return s.failed(operation, err)
	case found == nil || found.UID != job.UID:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrNotFound)
	case found.Revision != job.Revision-1:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrConflict)
	}
	if found.Generation != job.Generation {
		if err := s.keep(ctx, found.present()); err != nil {
			return s.failed(operation, err)
		}
	}
	gone := false
	write := change{id: mine.ID, document: raw, condition: jobIs(job.UID, job.Revision-1), first: stepReplace}
	refused, err := s.settle(ctx, s.jobs, []change{write}, func(_ int, stored bson.Raw) (step, error) {
		now, err := parseJob(stored)
		if err != nil {
			return 0, err
		}
		if gone = now == nil || now.UID != job.UID; gone {
			return stepRefused, nil
		}
		return revised(job.Revision, now.Revision, now.Revision == job.Revision && now.same(*mine)), nil
	})
	switch {
	case err != nil:
		return s.failed(operation, err)
	case gone:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrNotFound)
	case len(refused) > 0:
		return fmt.Errorf("mongo: %s: %w", operation, engine.ErrConflict)
	}
	return nil
}

// jobDocument reads what is stored under an id, nil for nothing.
func (s *Store) jobDocument(ctx context.Context, id string) (*jobDocument, error) {
	var found jobDocument
	err := s.repeat(ctx, func() error { return s.jobs.FindOne(ctx, byID(id)).Decode(&found) })
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	return &found, err
}

func parseJob(stored bson.Raw) (*jobDocument, error) {
	if stored == nil {
		return nil, nil
	}
	var found jobDocument
	return &found, bson.Unmarshal(stored, &found)
}

// handle clears Pending of the jobs that are still what the engine acted upon, and removes tombstones with their
// generations, these first: a tombstone that is still there is handled again.
func (s *Store) handle(ctx context.Context, handled []engine.JobHandled) error {
	ids := make([]string, len(handled))
	for i, h := range handled {
		ids[i] = jobID(h.Namespace, h.Name)
	}
	var found []jobDocument
	err := s.repeat(ctx, func() (err error) {
		found, err = find[jobDocument](ctx, s.jobs, byIDs(ids), options.Find().SetProjection(
			bson.D{{Key: "uid", Value: 1}, {Key: "revision", Value: 1}, {Key: "deleted", Value: 1}, {Key: "pending", Value: 1}}))
		return err
	})
	if err != nil {
		return err
	}
	var tombs []string
	var writes []mongo.WriteModel
	var nameless []engine.JobHandled // no living job is meant
	for i, h := range handled {
		at := slices.IndexFunc(found, func(d jobDocument) bool { return d.ID == ids[i] && d.UID == h.UID })
		if at < 0 || found[at].Deleted {
			nameless = append(nameless, h)
		}
		if at < 0 || found[at].Revision != h.Revision {
			continue
		}
		filter := append(byID(ids[i]), jobIs(h.UID, h.Revision)...)
		switch {
		case found[at].Deleted:
			tombs = append(tombs, h.UID)
			writes = append(writes, mongo.NewDeleteOneModel().SetFilter(filter))
		case found[at].Pending:
			writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(set("pending", false)))
		}
	}
	buried, err := s.buriedAt(ctx, nameless)
	if err != nil {
		return err
	}
	if err := s.dropGenerations(ctx, append(tombs, buried...)); err != nil {
		return err
	}
	if len(writes) > 0 {
		// Whatever does not match any more has been written by a user meanwhile, who has set Pending again.
		if err := s.repeat(ctx, func() error {
			_, err := s.jobs.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
			return err
		}); err != nil {
			return err
		}
	}
	return s.remove(ctx, s.tombstones, buried, nil)
}

// Jobs lists living jobs by name, with the cursor of the next page. It reads from the primary: whoever has just made a
// job looks for it here. A search looks at no more than Config.ScanLimit jobs at a time.
func (s *Store) Jobs(ctx context.Context, filter engine.JobFilter) (jobs []engine.Job, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after := ""
	if filter.Cursor != "" {
		if after, err = decodeCursor(filter.Cursor); err != nil {
			return nil, "", fmt.Errorf("mongo: list jobs: %w", err)
		}
	}
	limit, text := pageSize(filter.Limit), strings.ToLower(filter.Text)
	size := limit + 1
	if text != "" {
		size = min(1000, s.config.ScanLimit)
	}
	began := time.Now()
	for scanned := 0; ; {
		condition := append(named(filter.Namespace, after), bson.E{Key: "deleted", Value: false})
		documents, err := find[jobDocument](ctx, s.jobs, condition, options.Find().SetSort(ascending("_id")).SetLimit(int64(size)))
		if err != nil {
			return nil, "", s.failed("list jobs", err)
		}
		for _, document := range documents {
			if strings.Contains(strings.ToLower(document.Name), text) {
				if len(jobs) == limit {
					return jobs, encodeCursor(after), nil
				}
				job, err := document.value()
				if err != nil {
					return nil, "", s.failed("list jobs", &DocumentError{Collection: s.jobs.Name(), ID: document.ID, Err: err})
				}
				jobs = append(jobs, job)
			}
			after = document.ID
		}
		scanned += len(documents)
		switch {
		case len(documents) < size:
			return jobs, "", nil
		case scanned >= s.config.ScanLimit || time.Since(began) > s.config.ScanTime:
			return jobs, encodeCursor(after), nil
		}
	}
}

// named is the condition that an _id is of a namespace ("" for all) and above another.
func named(namespace, after string) bson.D {
	above, below := after, ""
	if namespace != "" {
		above, below = max(after, namespace+"/"), namespace+"0" // '0' follows '/'
	}
	bounds := bson.D{{Key: "$gt", Value: above}}
	if below != "" {
		bounds = append(bounds, bson.E{Key: "$lt", Value: below})
	}
	return bson.D{{Key: "_id", Value: bounds}}
}
