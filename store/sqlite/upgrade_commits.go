package sqlite

import (
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Until schema 9 a decision of the engine was several writes, of which a crash could leave some. What was still to be
// written stood in scheduled tasks (noting) and in runs that were about to be removed (given_up): it is written here, once.

// oldNoting is what a scheduled task had passed over, while the ledger did not say it yet.
type oldNoting struct {
	Slots []engine.SlotRange `json:"slots"`
	RunAt time.Time          `json:"run_at"` // the task's, once the ledger says it
}

// oldTask is a scheduled task of schema 8.
type oldTask struct {
	id     string
	slot   time.Time
	runAt  int64
	noting []byte
}

// upgradeCommits brings what schema 8 left half done to its end, and says how far each scheduled task is accounted for.
func upgradeCommits(c *connection, now time.Time) error {
	active, err := upgradeRuns(c)
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	var tasks []oldTask
	err = c.query("SELECT id, slot, run_at, noting FROM scheduled_tasks", nil, func(v []driver.Value) error {
		var task oldTask
		task.id, _ = v[0].(string)
		if slot, ok := v[1].(int64); ok {
			task.slot = time.UnixMilli(slot).UTC()
		}
		task.runAt, _ = v[2].(int64)
		task.noting, _ = v[3].([]byte)
		tasks = append(tasks, task)
		return nil
	})
	if err != nil {
		return fmt.Errorf("scheduled tasks: %w", err)
	}
	for i := range tasks {
		if err := upgradeTask(c, &tasks[i], active, now); err != nil {
			return fmt.Errorf("scheduled task %s: %w", tasks[i].id, err)
		}
	}
	return nil
}

// upgradeTask brings one up to date. active are the runs that have not ended, by id.
func upgradeTask(c *connection, t *oldTask, active map[string]engine.Run, now time.Time) error {
	if len(t.noting) > 0 {
		noting, err := decode[oldNoting](t.noting)
		if err != nil {
			return err
		}
		for i := range noting.Slots {
			if err := growSlots(c, &noting.Slots[i]); err != nil {
				return err
			}
		}
		t.runAt = always(noting.RunAt)
	}
	accounted := now
	if before := t.slot.Add(-time.Millisecond); t.runAt != always(engine.Parked) && !t.slot.IsZero() && before.Before(now) {
		accounted = before
	}
	taken, err := slotTaken(c, t, active)
	if err != nil {
		return err
	}
	_, err = c.exec("UPDATE scheduled_tasks SET run_at = ?, accounted = ?, taken = ? WHERE id = ?", t.runAt, always(accounted), taken, t.id)
	return err
}

// slotTaken returns the column taken: the task's slot, if that has a run already, as a crash could leave it.
func slotTaken(c *connection, t *oldTask, active map[string]engine.Run) (any, error) {
	id := engine.SlotRunID(t.id, t.slot)
	if _, found := active[id]; !found {
		ended, err := c.number("SELECT count(*) FROM runs_history WHERE turned = ?", turned(id))
		if err != nil || ended == 0 {
			return nil, err
		}
	}
	return encodeInstants([]time.Time{t.slot})
}

// upgradeRuns puts into the ledger what prepared runs say that were given up, removes them, and returns all runs that have
// not ended, by id.
func upgradeRuns(c *connection) (active map[string]engine.Run, err error) {
	active, givenUp := map[string]engine.Run{}, map[string]engine.SlotRange{}
	var last int64
	err = c.query("SELECT seq, doc FROM runs_log ORDER BY seq", nil, func(v []driver.Value) error {
		last, _ = v[0].(int64)
		record, _ := v[1].([]byte)
		return fields(record, func(field uint64, v value) error {
			switch field {
			case recordRun:
				run, err := decodeRun(v.bytes)
				if err != nil {
					return err
				}
				active[run.ID] = run
				delete(givenUp, run.ID)
				return decodeGivenUp(v.bytes, func(slots engine.SlotRange) { givenUp[run.ID] = slots })
			case recordGone:
				delete(active, v.text())
				delete(givenUp, v.text())
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	var record []byte
	for id, slots := range givenUp {
		if always(slots.To) != always(active[id].Slot) {
			continue // it is about the run that was there before it
		}
		if err := growSlots(c, &slots); err != nil {
			return nil, err
		}
		record = appendText(record, recordGone, id)
		delete(active, id)
	}
	if len(record) > 0 {
		_, err = c.exec("INSERT INTO runs_log (seq, doc) VALUES (?, ?)", last+1, record)
	}
	return active, err
}

// growSlots puts a range into the ledger where there is none or a smaller one.
func growSlots(c *connection, slots *engine.SlotRange) error {
	document, err := encode(slots)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO slots (id, job_uid, from_at, to_at, count, doc) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET to_at = excluded.to_at, count = excluded.count, doc = excluded.doc WHERE excluded.count > slots.count`,
		slots.ID, slots.JobUID, always(slots.From), always(slots.To), slots.Count, document)
	return err
}

// fieldGivenUp was what the ledger is to say of the slot of a run that is about to be removed.
const fieldGivenUp = 44

// decodeGivenUp calls give with what a run's document says of its slot, if it was given up.
func decodeGivenUp(document []byte, give func(engine.SlotRange)) error {
	return fields(document, func(field uint64, v value) error {
		if field != fieldGivenUp {
			return nil
		}
		slots, err := decodeSlots(v.bytes)
		give(slots)
		return err
	})
}

func decodeSlots(document []byte) (s engine.SlotRange, err error) {
	err = fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			s.ID = v.text()
		case 2:
			s.JobUID = v.text()
		case 3:
			s.Namespace = v.text()
		case 4:
			s.Job = v.text()
		case 5:
			s.From = v.time()
		case 6:
			s.To = v.time()
		case 7:
			s.Count = v.int()
		case 8:
			s.Outcome = engine.Outcome(v.text())
		case 9:
			s.Reason = engine.SlotReason(v.text())
		}
		return nil
	})
	return s, err
}
