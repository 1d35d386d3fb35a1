package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const racers = 24

// race calls do from many goroutines that begin together and returns what they answer, in the order of their numbers.
func race[T any](do func(racer int) T) []T {
	answers := make([]T, racers)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for racer := range racers {
		group.Go(func() {
			<-begin
			answers[racer] = do(racer)
		})
	}
	close(begin)
	group.Wait()
	return answers
}

// oneWinner wants one nil among the errors and loss as all others, and returns whose it is.
func (h *harness) oneWinner(answers []error, loss error) int {
	h.Helper()
	winner := -1
	for racer, err := range answers {
		switch {
		case err == nil && winner >= 0:
			h.Fatalf("both %d and %d have won", winner, racer)
		case err == nil:
			winner = racer
		case !errors.Is(err, loss):
			h.Fatalf("racer %d: got %v, want %v", racer, err, loss)
		}
	}
	if winner < 0 {
		h.Fatal("no writer has won")
	}
	return winner
}

var concurrencyPromises = []promise{
	{"raced CreateJob has one winner", func(h *harness) {
		answers := race(func(racer int) error {
			job := aJob("report")
			job.UID = uidOf("racer" + string(rune('a'+racer)))
			return h.store.Jobs().Create(h.ctx, job)
		})
		winner := h.oneWinner(answers, engine.ErrExists)
		same(h.T, "uid", h.job("report").UID, uidOf("racer"+string(rune('a'+winner))))
	}},
	{"raced CreateJob over a tombstone has one winner", func(h *harness) {
		tomb := h.replaceJob(remove(h.createJob(aJob("report"))))
		answers := race(func(racer int) error {
			job := aJob("report")
			job.UID = uidOf("racer" + string(rune('a'+racer)))
			return h.store.Jobs().Create(h.ctx, job)
		})
		winner := h.oneWinner(answers, engine.ErrExists)
		same(h.T, "uid", h.job("report").UID, uidOf("racer"+string(rune('a'+winner))))
		h.pending(tomb, h.job("report"))
	}},
	{"raced ReplaceJob has one winner", func(h *harness) {
		job := h.createJob(aJob("report"))
		for range 3 {
			answers := race(func(racer int) error { return h.store.Jobs().Replace(h.ctx, edit(job, fmt.Sprint(racer))) })
			winner := h.oneWinner(answers, engine.ErrConflict)
			job = edit(job, fmt.Sprint(winner))
			same(h.T, "job", h.job("report"), job)
			generation, err := h.store.Generation(h.ctx, job.UID, job.Generation)
			h.must("generation", err)
			same(h.T, "generation", generation.Spec, job.Spec)
		}
	}},
	{"raced binaries have one winner", func(h *harness) {
		answers := race(func(int) error { return h.store.CreateBinary(h.ctx, aBinary("report")) })
		h.oneWinner(answers, engine.ErrExists)
		answers = race(func(racer int) error {
			mine := pushed(aBinary("report"))
			mine.Aliases = map[string]int{fmt.Sprint(racer): 2}
			return h.store.ReplaceBinary(h.ctx, mine)
		})
		winner := h.oneWinner(answers, engine.ErrConflict)
		same(h.T, "aliases", h.binary("report").Aliases, map[string]int{fmt.Sprint(winner): 2})
	}},
	{"writers of different things do not disturb each other", func(h *harness) {
		answers := race(func(racer int) error {
			job := aJob(numbered("job", racer))
			if err := h.store.Jobs().Create(h.ctx, job); err != nil {
				return err
			}
			for _, run := range finished(job, noon, engine.StatusSucceeded) {
				if err := h.writer.commit(h.ctx, engine.Batch{Runs: []engine.Run{run}}); err != nil {
					return err
				}
			}
			return h.writer.commit(h.ctx, engine.Batch{Handled: []engine.JobHandled{{UID: job.UID, Namespace: job.Namespace, Name: job.Name, Revision: 1}}})
		})
		for racer, err := range answers {
			h.must(fmt.Sprint("racer ", racer), err)
		}
		h.pending()
		same(h.T, "runs", len(h.history(engine.RunFilter{Statuses: []engine.Status{engine.StatusSucceeded}})), racers)
	}},
	{"readers see whole runs while a writer writes", func(h *harness) {
		job := aJob("report")
		ctx, stop := context.WithCancel(h.ctx)
		written := make(chan error, 1)
		begun := make(chan struct{})
		go func() {
			var once sync.Once
			for i := 0; ctx.Err() == nil && i < 300; i++ {
				for _, run := range finished(job, noon.Add(time.Duration(i)*time.Minute), engine.StatusSucceeded) {
					if err := h.writer.commit(h.ctx, engine.Batch{Runs: []engine.Run{run}}); err != nil {
						written <- err
						return
					}
				}
				once.Do(func() { close(begun) })
			}
			written <- nil
		}()
		select {
		case <-begun:
		case err := <-written:
			h.Fatalf("writer: %v", err)
		}
		for range 40 {
			runs, _, err := h.store.Runs(h.ctx, engine.RunFilter{JobUID: job.UID, Limit: 20})
			h.must("list", err)
			seen := map[string]bool{}
			for _, run := range runs {
				lives := finished(job, run.Slot, engine.StatusSucceeded)
				same(h.T, "run", run, lives[run.Revision-1])
				if seen[run.ID] {
					h.Fatalf("%s is twice on one page", run.ID)
				}
				seen[run.ID] = true
			}
		}
		stop()
		h.must("writer", <-written)
	}},
	{"paging sees every run once while runs are inserted and end", func(h *harness) {
		job := aJob("report")
		var all []engine.Run
		for i := range 200 {
			all = append(all, slotRun(job, noon.Add(time.Duration(i)*time.Minute)))
		}
		h.commitRuns(all...)
		written := make(chan error, 1)
		go func() {
			for i, run := range all {
				later := slotRun(job, noon.Add(time.Duration(1000+i)*time.Minute))
				batch := engine.Batch{Runs: []engine.Run{ended(run, engine.StatusCancelled, time.Minute), later}}
				if err := h.writer.commit(h.ctx, batch); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		seen := map[string]int{}
		for _, run := range h.history(engine.RunFilter{JobUID: job.UID, Limit: 3}) {
			seen[run.ID]++
		}
		h.must("writer", <-written)
		for _, run := range all {
			if seen[run.ID] != 1 {
				h.Fatalf("%s was seen %d times", run.ID, seen[run.ID])
			}
		}
	}},
}
