package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
)

// What people do to DAGs and their waves, in the way of web/service.

func (u *users) livingDAG(choose func(*dagModel) bool) *dagModel {
	var living []*dagModel
	for _, m := range u.dags {
		if m.dag.UID != "" && !m.dag.Deleted && choose(m) {
			living = append(living, m)
		}
	}
	if len(living) == 0 {
		return nil
	}
	return pick(u.w, living...)
}

func anyDAG(*dagModel) bool { return true }

func (u *users) createDAG() bool {
	if len(u.dags) >= u.mostDAGs {
		return false
	}
	w := u.w
	name := fmt.Sprintf("dag-%d", len(u.dags)+1)
	uid := fmt.Sprintf("d%dx%04x", len(u.dags)+1, w.random.IntN(1<<16))
	now := u.time.stamp()
	definition := u.shapeDAG(name)
	w.notifier.drawDAG(definition)
	d := engine.DAG{
		UID: uid, Namespace: namespace, Name: name, Shard: engine.ShardOf(uid), Spec: *definition, Generation: 1, Revision: 1, Pending: true,
		CreatedAt: now, UpdatedAt: now,
	}
	if problems := definition.Validate(); len(problems) > 0 {
		return false // refused, as the API would
	}
	m := &dagModel{uid: uid, forms: map[int64]*dagForm{}, behaviour: u.drawDAGBehaviour()}
	u.dags = append(u.dags, m)
	u.dagByUID[uid] = m
	u.later(func() {
		if err := w.truth.store.DAGs().Create(context.Background(), d); err != nil {
			return
		}
		m.wrote(w, &d, now)
		w.note("user creates DAG", uid, describeDAG(definition), d.Revision)
		u.wake(engine.Wake{Shard: d.Shard, Kind: engine.WakeDAG, Key: uid})
	})
	return true
}

// changeDAG writes a new revision of a DAG.
func (u *users) changeDAG(m *dagModel, what string, alter func(d *engine.DAG, now time.Time)) {
	w := u.w
	d, now := m.dag, u.time.stamp()
	alter(&d, now)
	d.Revision++
	d.Pending = true
	if problems := d.Spec.Validate(); len(problems) > 0 {
		return
	}
	u.later(func() {
		if err := w.truth.store.DAGs().Replace(context.Background(), d); err != nil {
			return // another user was faster
		}
		m.wrote(w, &d, now)
		detail := ""
		if what == "edits" {
			detail = describeDAG(&d.Spec)
		}
		w.note("user "+what+" DAG", d.UID, detail, d.Revision)
		u.wake(engine.Wake{Shard: d.Shard, Kind: engine.WakeDAG, Key: d.UID})
	})
}

func (u *users) editDAG() bool {
	m := u.livingDAG(anyDAG)
	if m == nil {
		return false
	}
	definition := u.shapeDAG(m.dag.Name)
	if u.w.odds(0.5) { // the tasks stay, their policies change
		definition.Tasks, definition.Schedule = slices.Clone(m.dag.Spec.Tasks), m.dag.Spec.Schedule
	}
	u.w.notifier.drawDAG(definition)
	u.changeDAG(m, "edits", func(d *engine.DAG, now time.Time) {
		d.Spec = *definition
		d.Generation++
		d.UpdatedAt = now
	})
	return true
}

func (u *users) setDAGPaused(m *dagModel, paused bool) {
	what := "resumes"
	if paused {
		what = "pauses"
	}
	u.changeDAG(m, what, func(d *engine.DAG, now time.Time) { d.Paused, d.PausedAt = paused, now })
}

func (u *users) pauseDAG() bool {
	m := u.livingDAG(anyDAG)
	if m == nil {
		return false
	}
	u.setDAGPaused(m, !m.dag.Paused)
	return true
}

func (u *users) removeDAG() bool {
	m := u.livingDAG(anyDAG)
	if m == nil {
		return false
	}
	u.changeDAG(m, "deletes", func(d *engine.DAG, _ time.Time) { d.Deleted = true })
	return true
}

// startWave triggers a wave: inserts it, then leaves a command.
func (u *users) startWave() bool {
	m := u.livingDAG(anyDAG)
	if m == nil {
		return false
	}
	key := u.w.random.IntN(20)
	u.insertWave(m, engine.ManualWaveID(m.uid, fmt.Sprint("key-", key)), func(wave *engine.Wave) {
		wave.Trigger = engine.TriggerManual
		if key%4 == 0 { // some are for later
			wave.NotBefore = wave.CreatedAt.Add(time.Duration(key+1) * time.Second).Truncate(time.Millisecond)
		}
	})
	return true
}

func (u *users) insertWave(m *dagModel, id string, fill func(*engine.Wave)) {
	w := u.w
	wave := engine.Wave{
		ID: id, Revision: 1, Namespace: namespace, DAGUID: m.uid, DAG: m.dag.Name, Shard: m.dag.Shard, By: "user",
		Status: engine.StatusScheduled, CreatedAt: u.time.stamp(),
	}
	fill(&wave)
	if known, err := w.truth.store.WavesByID(context.Background(), []string{id}); err != nil || len(known) > 0 {
		return // the same once more
	}
	u.command(engine.Command{ID: engine.StartCommand(id), Kind: engine.CommandStartWave, RunID: id, JobUID: wave.DAGUID, By: wave.By, Wave: &wave})
}

// backfillDAG makes waves of slots that have passed and that no wave has had.
func (u *users) backfillDAG() bool {
	w := u.w
	m := u.livingDAG(func(m *dagModel) bool { return !m.dag.Spec.Manual() })
	if m == nil {
		return false
	}
	from := u.time.stamp().Add(-w.between(0, time.Minute)).Truncate(time.Millisecond)
	planned, _, err := wave.Backfill(&m.dag, from, from.Add(w.between(time.Second, 30*time.Second)), u.time.stamp())
	if err != nil {
		w.fail("backfills are planned", "DAG %s: %s", m.uid, err)
		return false
	}
	made := false
	for _, p := range planned[:min(len(planned), 3)] {
		if m.hadAny(p.Slots) {
			continue
		}
		made = true
		u.insertWave(m, engine.ManualWaveID(m.uid, p.BackfillKey()), func(wave *engine.Wave) {
			wave.Trigger, wave.Slot, wave.Slots = engine.TriggerBackfill, p.Slot, p.Slots
		})
	}
	return made
}

// hadAny reports whether a wave has had one of these slots, as far as users see.
func (m *dagModel) hadAny(slots map[string]time.Time) bool {
	for name, slot := range slots {
		if root := m.root(name); root != nil && root.fired[slot.UnixMilli()] != "" {
			return true
		}
	}
	return false
}

// someWave draws a wave, nil if there is none that is wanted.
func (u *users) someWave(choose func(*engine.Wave) bool) *engine.Wave {
	m := u.livingDAG(anyDAG)
	if m == nil {
		return nil
	}
	waves, _, err := u.w.truth.store.Waves(context.Background(), engine.WaveFilter{DAGUID: m.uid, Limit: 1000})
	if err != nil {
		return nil
	}
	var some []*engine.Wave
	for i := range waves {
		if choose(&waves[i]) {
			some = append(some, &waves[i])
		}
	}
	if len(some) == 0 {
		return nil
	}
	return pick(u.w, some...)
}

func (u *users) cancelWave() bool {
	wave := u.someWave(func(wave *engine.Wave) bool { return !wave.Status.Terminal() })
	if wave == nil {
		return false
	}
	u.w.counts.add("cancel wave", wave.Status.String())
	u.command(engine.Command{ID: wave.ID + "-cancel", Kind: engine.CommandCancelWave, RunID: wave.ID, JobUID: wave.DAGUID, By: "user"})
	return true
}

// endWaves cancels the waves of paused DAGs that stay open: they end by nothing else.
func (u *users) endWaves(staying []engine.Wave) {
	for i := range staying {
		wave := &staying[i]
		u.w.counts.add("wave", "stays open")
		u.command(engine.Command{ID: wave.ID + "-cancel", Kind: engine.CommandCancelWave, RunID: wave.ID, JobUID: wave.DAGUID, By: "user"})
	}
}

func (u *users) resumeWave() bool {
	wave := u.someWave(func(wave *engine.Wave) bool {
		return wave.Epoch > 0 && (wave.Status == engine.StatusFailed || wave.Status == engine.StatusCancelled)
	})
	if wave == nil {
		return false
	}
	u.w.counts.add("resume wave", wave.Status.String())
	u.command(engine.Command{
		ID: fmt.Sprintf("%s-resume-%d", wave.ID, wave.Revision), Kind: engine.CommandResumeWave, RunID: wave.ID, JobUID: wave.DAGUID,
		By: "user", Revision: wave.Revision,
	})
	return true
}

// markTask sets the result of a task of a wave by a user's command. The task waits or did not succeed.
func (u *users) markTask() bool {
	w := u.w
	wave := u.someWave(func(wave *engine.Wave) bool { return wave.Epoch > 0 && wave.Status != engine.StatusSucceeded })
	if wave == nil {
		return false
	}
	form := u.dagByUID[wave.DAGUID].forms[wave.Generation]
	task := form.graph.Name(w.random.IntN(form.graph.Len()))
	as := pick(w, engine.StatusSucceeded, engine.StatusSkipped, engine.StatusFailed)
	known := w.truth.stored[engine.TaskRunID(wave.ID, task)]
	switch {
	case wave.Status.Terminal() && (as == engine.StatusFailed || known == nil || known.status == engine.StatusSucceeded):
		return false
	case !wave.Status.Terminal() && known != nil && known.status != engine.StatusScheduled:
		return false
	}
	w.counts.add("mark in wave", wave.Status.String())
	u.command(engine.Command{
		ID: fmt.Sprintf("%s-mark-%d-%s-%s", wave.ID, wave.Revision, as, task), Kind: engine.CommandMarkTask, RunID: wave.ID, JobUID: wave.DAGUID,
		By: "user", Revision: wave.Revision, Task: task, Mark: as,
	})
	return true
}

// clearTask asks for a task of a wave that has ended to be run again, or for one of its items, with or without what comes after it.
func (u *users) clearTask() bool {
	w := u.w
	wave := u.someWave(func(wave *engine.Wave) bool { return wave.Epoch > 0 && wave.Status.Terminal() })
	if wave == nil {
		return false
	}
	form := u.dagByUID[wave.DAGUID].forms[wave.Generation]
	task := form.graph.Name(w.random.IntN(form.graph.Len()))
	state, items := w.truth.outcome(wave.ID, task)
	if state == 0 {
		return false
	}
	command := engine.Command{
		Kind: engine.CommandClearTask, RunID: wave.ID, JobUID: wave.DAGUID, By: "user", Revision: wave.Revision, Task: task, Alone: w.odds(0.3),
	}
	command.ID = fmt.Sprintf("%s-clear-%d-%s-%t", wave.ID, wave.Revision, task, command.Alone)
	what := state.String()
	if items > 0 && w.odds(0.5) {
		item := w.random.IntN(items)
		if run := w.truth.stored[engine.ItemRunID(wave.ID, item, task)]; run == nil || !run.status.Terminal() {
			return false
		}
		command.Item = &item
		command.ID += fmt.Sprint("-", item)
		what += " item"
	}
	w.counts.add("clear in wave", what)
	u.command(command)
	return true
}
