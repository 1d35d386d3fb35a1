package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// registered measures a server that has n jobs which are not due: how long it takes to plan them once, to start again,
// what it holds in memory, and what it costs while nothing happens.
func (b *bench) registered(ctx context.Context, n int) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	s, _, err := startServer(ctx, b.binary, data, b.storeFlags()...) // makes the folder, and the program's entry
	if err != nil {
		return err
	}
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if err := b.register(ctx, data, n); err != nil {
		return err
	}
	s, ready, err := startServer(ctx, b.binary, data, b.storeFlags()...)
	if err != nil {
		return err
	}
	began := time.Now()
	for {
		var last struct{ Pending bool }
		if err := s.call(ctx, http.MethodGet, "/jobs/job-"+strconv.Itoa(n-1), nil, &last); err != nil {
			return err
		}
		if !last.Pending {
			break
		}
		if err := sleepUntil(ctx, time.Now().Add(100*time.Millisecond)); err != nil {
			return err
		}
	}
	planned := ready + time.Since(began)
	if err := s.stop(); err != nil {
		return err
	}
	s, ready, err = startServer(ctx, b.binary, data, b.storeFlags()...)
	if err != nil {
		return err
	}
	defer b.stop(s)
	if err := sleepUntil(ctx, time.Now().Add(5*time.Second)); err != nil {
		return err
	}
	const idle = 30 * time.Second // long enough that one minute boundary does not decide
	before, _, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	if err := sleepUntil(ctx, time.Now().Add(idle)); err != nil {
		return err
	}
	after, _, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	memory, err := residentMemory(s.pid())
	if err != nil {
		return err
	}
	b.print(fmt.Sprintf("%d registered jobs", n), fmt.Sprintf(
		"first planning %.1f s; start again until ready %.2f s; %.0f MiB in memory; idle %.2f%% of a core",
		planned.Seconds(), ready.Seconds(), memory, 100*(after-before).Seconds()/idle.Seconds()),
		"design, for a million: ready in 5 s, 400 MiB, idle under 1%")
	return nil
}

// register writes jobs straight into the store, as an import would: each once a day, spread over it.
func (b *bench) register(ctx context.Context, data string, n int) error {
	store, err := b.openStore(ctx, data)
	if err != nil {
		return err
	}
	defer store.Close(ctx)
	return createJobs(ctx, store, n, func(i int) spec.Job {
		return spec.Job{Name: "job-" + strconv.Itoa(i), Binary: "true", Schedule: spec.Strings{"H H * * *"}}
	})
}

// createJobs writes n jobs into a store, which are planned once an engine has read them.
func createJobs(ctx context.Context, store store, n int, definition func(i int) spec.Job) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	group, ctx := errgroup.WithContext(ctx)
	const workers = 32 // whose writes go to the disk together
	for worker := range workers {
		group.Go(func() error {
			for i := worker; i < n; i += workers {
				definition := definition(i)
				definition.Kind = spec.KindJob
				definition.ApplyDefaults()
				job := engine.Job{
					UID: service.NewUID(), Namespace: engine.DefaultNamespace, Name: definition.Name, Spec: definition,
					Generation: 1, Revision: 1, Pending: true, CreatedAt: now, UpdatedAt: now,
				}
				job.Shard = engine.ShardOf(job.UID)
				if err := store.Jobs().Create(ctx, job); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
