package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// fullStore is a store on a full disk.
type fullStore struct{ store }

func (fullStore) Jobs() engine.Definitions[spec.Job] { return fullJobs{} }

type fullJobs struct{ engine.Definitions[spec.Job] }

func (fullJobs) Create(context.Context, engine.Job) error {
	return errors.Join(errors.New("sqlite: create job"), engine.ErrFull)
}

func TestFullDiskIsReportedAsDiskFull(t *testing.T) {
	err := storeOfUsers{fullStore{}}.Jobs().Create(t.Context(), engine.Job{})
	var problem *service.Error
	if !errors.As(err, &problem) || problem.Code != "disk_full" || problem.Kind != service.KindUnavailable {
		t.Errorf("the user gets %v", err)
	}
	upload := uploadError(errors.New("operation error S3: PutObject, https response error StatusCode: 507, RequestID: x"))
	if !errors.As(upload, &problem) || problem.Code != "disk_full" {
		t.Errorf("after an upload the user gets %v", upload)
	}
}

func TestFirstMessageThatNATSCannotStoreIsNoticed(t *testing.T) {
	log, seen := newNATSFailure(testLog(t))
	log.Error("JetStream failed to store a msg on stream '$G > KV_LEASES': write /data/nats/1.blk: no space left on device")
	if len(seen.what) != 1 {
		t.Error("a stream that takes nothing any more was not noticed")
	}
}

// NATS does not write a stream again once it could not. The server notices, is not ready, and restarts as soon as
// there is space.
func TestServerStopsAfterANATSWriteError(t *testing.T) {
	var text safeBuffer
	log, seen := newNATSFailure(slog.New(slog.NewTextHandler(&text, nil)))
	s := &Server{log: testLog(t), data: &dataFolder{dir: t.TempDir()}}
	s.disk = newDisk(s.data.dir, s.log)
	log.With("part", "nats").Warn("Critical write error is only mentioned")
	if len(seen.what) > 0 {
		t.Fatal("a warning was taken for a failure")
	}
	log.With("part", "nats").WithGroup("g").Error("Filestore [KV_LOCKS] Critical write error: no space left on device")
	err := s.watchNATS(t.Context(), seen)
	if !errors.Is(err, errBeginAnew) {
		t.Errorf("the watch ended with %v", err)
	}
	if s.disk.look(); s.disk.full() == nil {
		t.Error("the server counts as ready while its queue cannot write")
	}
	if !strings.Contains(text.String(), "Filestore [KV_LOCKS]") {
		t.Error("what NATS said is not in the log")
	}
}
