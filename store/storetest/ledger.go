package storetest

import (
	"errors"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func (h *harness) slots(filter engine.SlotFilter) (all []engine.SlotRange) {
	h.Helper()
	for pages := 0; ; pages++ {
		slots, next, err := h.store.Slots(h.ctx, filter)
		h.must("list slots", err)
		if len(slots) > filter.Limit || pages > 1000 {
			h.Fatalf("page %d has %d entries for a limit of %d", pages, len(slots), filter.Limit)
		}
		all = append(all, slots...)
		if next == "" {
			return all
		}
		filter.Cursor = next
	}
}

func (h *harness) letters(limit int) (all []engine.DeadLetter) {
	h.Helper()
	for cursor, pages := "", 0; ; pages++ {
		letters, next, err := h.store.DeadLetters(h.ctx, namespace, cursor, limit)
		h.must("list dead letters", err)
		if len(letters) > limit || pages > 1000 {
			h.Fatalf("page %d has %d letters for a limit of %d", pages, len(letters), limit)
		}
		all = append(all, letters...)
		if next == "" {
			return all
		}
		cursor = next
	}
}

var ledgerPromises = []promise{
	{"the ledger of a job is newest first, by pages, within a window", func(h *harness) {
		job := aJob("report")
		var batch engine.Batch
		for i := range 20 { // newest first; each range is ten minutes long, an hour apart
			batch.Slots = append(batch.Slots, aSlotRange(job, noon.Add(-time.Duration(i)*time.Hour), 11))
		}
		batch.Slots = append(batch.Slots, aSlotRange(aJob("other"), noon, 2))
		h.commit(batch)
		want := batch.Slots[:20]
		same(h.T, "by pages of 3", h.slots(engine.SlotFilter{JobUID: job.UID, Limit: 3}), want)
		same(h.T, "at once", h.slots(engine.SlotFilter{JobUID: job.UID, Limit: 1000}), want)
		for _, test := range []struct {
			name         string
			since, until time.Time
			want         []engine.SlotRange
		}{
			{"the last slot of a range counts", want[5].To, time.Time{}, want[:6]},
			{"after the last slot", want[5].To.Add(time.Millisecond), time.Time{}, want[:5]},
			{"the end is not in it", time.Time{}, want[5].From, want[6:]},
			{"just after the first slot", time.Time{}, want[5].From.Add(time.Millisecond), want[5:]},
			{"inside a range", want[5].From.Add(time.Minute), want[5].From.Add(2 * time.Minute), want[5:6]},
			{"between ranges", want[5].To.Add(time.Minute), want[5].To.Add(2 * time.Minute), nil},
		} {
			for _, limit := range []int{1, 100} {
				same(h.T, test.name, h.slots(engine.SlotFilter{JobUID: job.UID, Since: test.since, Until: test.until, Limit: limit}), test.want)
			}
		}
		same(h.T, "another job", h.slots(engine.SlotFilter{JobUID: uidOf("nobody"), Limit: 10}), nil)
	}},
	{"a long range is found from its middle behind many short ones", func(h *harness) {
		job := aJob("report")
		long := aSlotRange(job, noon.Add(-1000*time.Hour), 60*1000)
		batch := engine.Batch{Slots: []engine.SlotRange{long}}
		h.commit(batch)
		same(h.T, "slots", h.slots(engine.SlotFilter{JobUID: job.UID, Since: noon.Add(-2 * time.Hour), Until: noon.Add(-time.Hour), Limit: 5}), batch.Slots)
	}},
	{"dead letters are newest first, by pages and namespace", func(h *harness) {
		var batch engine.Batch
		for i := range 10 {
			batch.DeadLetters = append(batch.DeadLetters, aLetter(slotRun(aJob("report"), noon.Add(-time.Duration(i)*time.Hour)), noon.Add(-time.Duration(i/2)*time.Second)))
		}
		elsewhere := aLetter(slotRun(aJob("elsewhere"), noon), noon)
		elsewhere.Namespace = "other"
		h.commit(engine.Batch{DeadLetters: append([]engine.DeadLetter{elsewhere}, batch.DeadLetters...)})
		same(h.T, "by pages of 3", h.letters(3), batch.DeadLetters)
		same(h.T, "at once", h.letters(100), batch.DeadLetters)
		// Who filters the list pages by the places of letters.
		after := engine.Cursor{At: batch.DeadLetters[3].At, ID: batch.DeadLetters[3].RunID}.Encode("letters")
		rest, _, err := h.store.DeadLetters(h.ctx, batch.DeadLetters[0].Namespace, after, 100)
		h.must("list from a place on", err)
		same(h.T, "from a place on", rest, batch.DeadLetters[4:])
	}},
	{"a dead letter is given by the id of its run", func(h *harness) {
		one, two := aLetter(slotRun(aJob("one"), noon), noon), aLetter(slotRun(aJob("two"), noon), noon)
		h.commit(engine.Batch{DeadLetters: []engine.DeadLetter{one, two}})
		got, err := h.store.DeadLetter(h.ctx, two.RunID)
		h.must("read", err)
		same(h.T, "letter", got, two)
		if _, err := h.store.DeadLetter(h.ctx, "nobody"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
	}},
	{"a dead letter is dropped by replay and purged by users", func(h *harness) {
		one, two := aLetter(slotRun(aJob("one"), noon), noon), aLetter(slotRun(aJob("two"), noon), noon)
		h.commit(engine.Batch{DeadLetters: []engine.DeadLetter{one, two}})
		h.commit(engine.Batch{DropLetters: []string{one.RunID, "nobody"}})
		same(h.T, "letters", h.letters(10), []engine.DeadLetter{two})
		h.must("purge", h.store.DeleteDeadLetter(h.ctx, two.RunID))
		if err := h.store.DeleteDeadLetter(h.ctx, two.RunID); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "letters", h.letters(10), nil)
	}},
}
