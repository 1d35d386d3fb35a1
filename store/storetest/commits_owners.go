package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// aDecision puts documents of several kinds. One of another number puts others, and replaces the scheduled task.
func aDecision(job engine.Job, n int) engine.Batch {
	at := noon.Add(time.Duration(n) * time.Hour)
	task, dead := aTask(job, at), finished(job, at, engine.StatusDead)[3]
	return engine.Batch{
		Runs:        []engine.Run{dead, slotRun(job, at.Add(time.Minute))},
		Tasks:       []engine.ScheduledTask{task},
		Slots:       []engine.SlotRange{aSlotRange(job, at, 3)},
		DeadLetters: []engine.DeadLetter{aLetter(dead, at)},
		Incidents:   []engine.Incident{anIncident(job, spec.AlertDead, at)},
	}
}

var ownerPromises = []promise{
	{"terms grow, and continue behind the last commit", func(h *harness) {
		job := aJob("report")
		last, position := uint64(0), uint64(0)
		for n, name := range []string{"ada", "grace", "grace", "ada"} {
			owner := h.take(job.Shard, name)
			if owner.term <= last || owner.position < position {
				h.Fatalf("term %d begins at %d, after term %d, which ended at %d", owner.term, owner.position, last, position)
			}
			for range n {
				owner.commit(aDecision(job, n))
			}
			last, position = owner.term, owner.position
		}
		other := h.take((job.Shard+1)%engine.Shards, "ada")
		if other.term >= last {
			h.Fatalf("the first term of another shard is %d", other.term)
		}
	}},
	{"an owner that was fenced writes nothing", func(h *harness) {
		job := aJob("report")
		first := h.take(job.Shard, "ada")
		done := first.commit(aDecision(job, 0))
		second := h.take(job.Shard, "grace")
		before := h.caughtUp(job)
		first.isFenced(aDecision(job, 1))
		same(h.T, "state", h.caughtUp(job), before)
		if err := h.try(done); err != nil && !errors.Is(err, engine.ErrFenced) {
			h.Fatalf("what was done in the term before, given again: %v", err)
		}
		same(h.T, "state", h.caughtUp(job), before)
		decision := aDecision(job, 2)
		second.commit(decision)
		same(h.T, "state", h.caughtUp(job), before.after(&decision))
	}},
	{"a commit that comes late, when others have gone on, is fenced", func(h *harness) {
		job := aJob("report")
		first := h.take(job.Shard, "ada")
		first.commit(aDecision(job, 0))
		for n := range 3 {
			next := h.take(job.Shard, fmt.Sprint("owner ", n))
			for range 3 {
				next.commit(aDecision(job, n))
			}
		}
		before := h.caughtUp(job)
		for range 12 { // whether its position is behind theirs or not
			first.isFenced(aDecision(job, 9))
			first.position++
		}
		same(h.T, "state", h.caughtUp(job), before)
	}},
	{"an owner that takes a shard again is fenced in its earlier term", func(h *harness) {
		job := aJob("report")
		first := h.take(job.Shard, "ada")
		first.commit(aDecision(job, 0))
		again := h.take(job.Shard, "ada")
		first.isFenced(aDecision(job, 1))
		again.commit(aDecision(job, 2))
		same(h.T, "slots", len(h.caughtUp(job).Slots), 2)
	}},
	{"a term that no owner was given writes nothing", func(h *harness) {
		job := aJob("report")
		for _, taken := range []bool{false, true} {
			if taken {
				h.take(job.Shard, "ada")
			}
			for _, term := range []uint64{0, 7} {
				decision := aDecision(job, 0)
				if err := h.try(engine.ShardCommit{Shard: job.Shard, Term: term, Position: 1, Batch: &decision}); err == nil {
					h.Fatalf("term %d has committed", term)
				}
			}
		}
		same(h.T, "state", h.caughtUp(job), state{})
	}},
	{"a position that is not the next one is refused", func(h *harness) {
		job := aJob("report")
		h.take(job.Shard, "ada").commit(aDecision(job, 0))
		owner := h.take(job.Shard, "grace")
		before := h.caughtUp(job)
		refuse := func(position uint64) {
			h.Helper()
			commit := owner.next(aDecision(job, 1))
			commit.Position = position
			if err := h.try(commit); err == nil {
				h.Fatalf("position %d after %d was written", position, owner.position)
			}
			same(h.T, "state", h.caughtUp(job), before)
		}
		refuse(owner.position) // which was another term's
		refuse(owner.position + 2)
		refuse(0)
		for n := range 2 {
			owner.commit(aDecision(job, 2+n))
		}
		before = h.caughtUp(job)
		refuse(owner.position - 1)
		refuse(owner.position + 2)
		owner.commit(engine.Batch{}) // which takes a position, too
		refuse(owner.position - 1)
		owner.commit(aDecision(job, 4))
	}},
	{"a commit of which the answer was lost is done once", func(h *harness) {
		job := aJob("report")
		owner := h.take(job.Shard, "ada")
		faulty := &Faulty{Store: h.store}
		for n := range 2 {
			commit := owner.next(aDecision(job, n))
			letter := commit.Batch.DeadLetters[0]
			faulty.Fault = DoneButFailed
			if err := faulty.Commit(h.ctx, []engine.ShardCommit{commit})[0]; !errors.Is(err, ErrInjected) {
				h.Fatalf("got %v", err)
			}
			h.catchUp()
			h.must("purge", h.store.DeleteDeadLetter(h.ctx, letter.RunID)) // what is done since stays done
			faulty.Fault = Twice
			h.must("commit again", faulty.Commit(h.ctx, []engine.ShardCommit{commit})[0])
			same(h.T, "letters", h.caughtUp(job).Letters, nil)
			owner.position++
		}
		owner.commit(aDecision(job, 2))
	}},
	{"a commit that never arrived is written when it is given again", func(h *harness) {
		job := aJob("report")
		owner := h.take(job.Shard, "ada")
		faulty := &Faulty{Store: h.store, Fault: Refuse}
		decision := aDecision(job, 0)
		commit := owner.next(decision)
		if err := faulty.Commit(h.ctx, []engine.ShardCommit{commit})[0]; !errors.Is(err, ErrInjected) {
			h.Fatalf("got %v", err)
		}
		if _, err := faulty.Take(h.ctx, job.Shard, "grace"); !errors.Is(err, ErrInjected) {
			h.Fatalf("got %v", err)
		}
		want := h.caughtUp(job)
		same(h.T, "state", want, state{})
		owner.commit(decision)
		same(h.T, "state", h.caughtUp(job), want.after(&decision))
	}},
	{"a take whose answer was lost is done again", func(h *harness) {
		job := aJob("report")
		first := h.take(job.Shard, "ada")
		faulty := &Faulty{Store: h.store, Fault: DoneButFailed}
		if _, err := faulty.Take(h.ctx, job.Shard, "grace"); !errors.Is(err, ErrInjected) {
			h.Fatalf("got %v", err)
		}
		first.isFenced(aDecision(job, 0))
		h.take(job.Shard, "grace").commit(aDecision(job, 1))
	}},
	{"commits of several shards in one call stand each for itself", func(h *harness) {
		var jobs []engine.Job
		var owners []*owner
		for shard := range 5 {
			of, _ := jobsOf(shard)
			jobs, owners = append(jobs, of[0]), append(owners, h.take(shard, "ada"))
		}
		done := owners[3].commit(aDecision(jobs[3], 1))
		h.take(1, "grace")
		before := h.caughtUp(jobs...)
		commits := []engine.ShardCommit{
			owners[0].next(aDecision(jobs[0], 0)),
			owners[1].next(aDecision(jobs[1], 0)), // fenced
			owners[2].next(aDecision(jobs[2], 0)), // not the next one
			done,
			owners[4].next(aDecision(jobs[4], 0)),
		}
		commits[2].Position++
		answers := h.store.Commit(h.ctx, commits)
		same(h.T, "answers", len(answers), 5)
		for _, written := range []int{0, 3, 4} {
			h.must(fmt.Sprint("commit ", written), answers[written])
		}
		if !errors.Is(answers[1], engine.ErrFenced) || answers[2] == nil {
			h.Fatalf("got %v and %v", answers[1], answers[2])
		}
		want := before.after(commits[0].Batch)
		same(h.T, "state", h.caughtUp(jobs...), want.after(commits[4].Batch))
		same(h.T, "answers to nothing", len(h.store.Commit(h.ctx, nil)), 0)
	}},
	{"of two owners that race only the later one continues", func(h *harness) {
		job := aJob("report")
		type tenure struct {
			owner
			began uint64
			err   error
		}
		tenures := race(func(racer int) tenure {
			term, err := h.store.Take(h.ctx, job.Shard, fmt.Sprint("racer ", racer))
			mine := tenure{owner{h, job.Shard, term.Number, term.Position}, term.Position, err}
			for mine.err == nil && mine.position < mine.began+20 {
				n := int(mine.term)*100 + int(mine.position-mine.began)
				if mine.err = h.try(mine.next(aDecision(job, n))); mine.err == nil {
					mine.position++
				}
			}
			return mine
		})
		byTerm := map[uint64]tenure{}
		written, last := 0, uint64(0)
		for _, one := range tenures {
			if one.err != nil && !errors.Is(one.err, engine.ErrFenced) {
				h.Fatalf("term %d: %v", one.term, one.err)
			}
			byTerm[one.term] = one
			written += int(one.position - one.began)
			last = max(last, one.term)
		}
		same(h.T, "terms", len(byTerm), racers)
		end := uint64(0)
		for term := range last + 1 {
			if one, taken := byTerm[term]; taken {
				if one.began < end {
					h.Fatalf("term %d begins at %d, when the one before it was at %d", term, one.began, end)
				}
				end = one.position
			}
		}
		same(h.T, "commits of the last", end-byTerm[last].began, 20)
		now := h.caughtUp(job)
		same(h.T, "slots", len(now.Slots), written)
		decision := aDecision(job, int(last)*100+19)
		same(h.T, "scheduled tasks", now.Tasks, decision.Tasks)
	}},
}
