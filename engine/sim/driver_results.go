package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// receipt is a delivery of results.
type receipt struct {
	shard    int
	sequence uint64
}

// listen begins to deliver a shard's results from the first unacknowledged on.
func (e *driver) listen(seat shard.Seat) {
	number := seat.Shard
	e.seats[number] = seat
	e.cursors[number], e.busy[number] = e.w.queue.floors[number], false
	e.pump(number)
}

// pump delivers what a shard has, a batch at a time.
func (e *driver) pump(number int) {
	w, seat, group := e.w, e.seats[number], e.group
	if seat == (shard.Seat{}) || e.busy[number] || group.dead || e.isCut() {
		return
	}
	if log := w.queue.logs[number]; len(log) == 0 || log[len(log)-1].sequence <= e.cursors[number] {
		return
	}
	e.busy[number] = true
	delay := w.between(100*time.Microsecond, 3*time.Millisecond)
	if w.chance(resultsDelayed) {
		delay = w.between(20*time.Millisecond, 3*time.Second)
	}
	w.after(delay, func() {
		if e.seats[number] != seat || e.group != group || group.dead {
			return
		}
		if e.isCut() {
			e.busy[number] = false
			return
		}
		if w.chance(resultsAgain) {
			e.cursors[number] = w.queue.floors[number]
		}
		most := 1 + w.random.IntN(20)
		var results []engine.Result
		log := w.queue.logs[number]
		from, _ := slices.BinarySearchFunc(log, e.cursors[number]+1, func(m message, sequence uint64) int { return cmp.Compare(m.sequence, sequence) })
		for _, m := range log[from:min(from+most, len(log))] {
			results = append(results, m.result)
		}
		e.busy[number] = false
		if len(results) > 0 {
			last := results[len(results)-1].Sequence
			e.cursors[number] = last
			e.input(shard.Results{Seat: seat, Results: results, Receipt: receipt{number, last}})
		}
		if e.seats[number] == seat {
			e.pump(number)
		}
	})
}
