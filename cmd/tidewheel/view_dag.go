package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

// tableOfDAGs lists DAGs, one a line. narrowed reports whether a filter left others out.
func (c *cli) tableOfDAGs(w io.Writer, dags []wire.DAG, narrowed bool) {
	switch {
	case len(dags) == 0 && narrowed:
		fmt.Fprintln(w, "No DAGs found: `tidewheel get dags` lists all of them.")
		return
	case len(dags) == 0:
		fmt.Fprintln(w, "There are no DAGs yet: define one with `tidewheel apply -f FILE`.")
		return
	}
	t := newTable(w, "NAME", "TASKS", "SCHEDULE", "NEXT", "STATE", "UPDATED")
	for i := range dags {
		d := &dags[i]
		_, schedule, _ := strings.Cut(d.Schedule, " task")
		schedule = strings.TrimLeft(strings.TrimPrefix(schedule, "s"), ";, ")
		t.row(d.Name, len(d.Spec.Tasks), schedule, c.ago(d.NextSlot), definitionState(&d.Definition), c.ago(d.UpdatedAt))
	}
	t.flush()
}

// describeDAG prints all about one DAG: its state, its definition, and its last waves.
func (c *cli) describeDAG(w io.Writer, d *wire.DAG, preview *wire.DAGPreview, waves []wire.Wave) error {
	t := newTable(w)
	c.describeDefinition(t, &d.Definition)
	t.field("Tasks", len(d.Spec.Tasks))
	for _, root := range preview.Roots {
		t.field("Root "+root.Root, root.Description)
	}
	text, err := spec.TextDAG(&d.Spec, d.Source)
	if err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	c.describeHistory(w, t, &d.Definition, text)
	if len(preview.Items) > 0 {
		fmt.Fprintln(w, "\nNext slots:")
		t = newTable(w)
		for _, slot := range preview.Items {
			t.row("  "+slot.Root, slot.Local.Format("Mon 2006-01-02 15:04:05 -07:00"), c.ago(slot.Slot.Slot), slot.Note)
		}
		t.flush()
	}
	if len(waves) > 0 {
		fmt.Fprintln(w, "\nLatest waves:")
		c.tableOfWaves(w, waves)
	}
	return nil
}

// tableOfWaves lists waves, one a line.
func (c *cli) tableOfWaves(w io.Writer, waves []wire.Wave) {
	if len(waves) == 0 {
		fmt.Fprintln(w, "No waves found.")
		return
	}
	t := newTable(w, "WAVE", "DAG", "EPOCH", "STATUS", "TRIGGER", "SLOT", "STARTED", "TOOK", "REASON")
	for i := range waves {
		one := &waves[i]
		epoch := ""
		if one.Epoch > 0 {
			epoch = fmt.Sprint(one.Epoch)
		}
		t.row(one.ID, one.DAG, epoch, one.Status, one.Trigger, stamp(one.Slot), c.ago(one.StartedAt), c.waveTook(one), one.Reason)
	}
	t.flush()
}

// waveTook reports how long a wave has taken, so far where it has not ended.
func (c *cli) waveTook(wave *wire.Wave) string {
	if wave.StartedAt.IsZero() {
		return ""
	}
	until := wave.FinishedAt
	if until.IsZero() {
		until = c.now()
	}
	took := until.Sub(wave.StartedAt)
	for _, rest := range wave.Rests {
		took -= rest.To.Sub(rest.From)
	}
	return roughly(max(took, 0))
}

// describeWave prints all about one wave.
func (c *cli) describeWave(w io.Writer, wave *wire.WaveDetail) {
	t := newTable(w)
	t.field("Wave", wave.ID)
	t.field("DAG", wave.DAG)
	if wave.Epoch > 0 {
		t.field("Epoch", wave.Epoch)
		t.field("Generation", wave.Generation)
	}
	t.field("Status", wave.Status)
	t.field("Reason", wave.Reason)
	t.field("Trigger", by(string(wave.Trigger), wave.By))
	t.field("Slot", stamp(wave.Slot))
	t.field("Created", stamp(wave.CreatedAt))
	t.field("Not before", stamp(wave.NotBefore))
	t.field("Started", stamp(wave.StartedAt))
	t.field("Finished", stamp(wave.FinishedAt))
	t.field("Took", c.waveTook(&wave.Wave))
	t.field("Cancelled by", wave.CancelBy)
	if wave.Resumed > 0 {
		t.field("Resumed", count(wave.Resumed, "time"))
	}
	if len(wave.Payload) > 0 {
		t.field("Payload", compact(wave.Payload))
	}
	for _, key := range slices.Sorted(maps.Keys(wave.Args)) {
		t.field("Argument", key+"="+wave.Args[key])
	}
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(wave.Counts)) {
		counts = append(counts, fmt.Sprintf("%d %s", wave.Counts[state], state))
	}
	t.field("Tasks", strings.Join(counts, ", "))
	if len(wave.CriticalPath) > 0 {
		t.field("Critical path", fmt.Sprintf("%s (%s)", strings.Join(wave.CriticalPath, " > "), wave.CriticalTime))
	}
	t.flush()
	fmt.Fprintln(w)
	t = newTable(w, "TASK", "STATE", "STARTED", "TOOK", "TRY", "ITEMS", "RUN", "REASON")
	for i := range wave.Tasks {
		task := &wave.Tasks[i]
		took, try, items := "", "", ""
		if !task.Started.IsZero() {
			took = task.Took.String()
		}
		if task.Attempt > 0 {
			try = fmt.Sprint(task.Attempt)
		}
		if n := task.Items; n != nil {
			items = fmt.Sprintf("%d of %d", n.Succeeded, n.Total)
		}
		t.row(task.Name, task.State, c.ago(task.Started), took, try, items, task.Run, task.Reason)
	}
	t.flush()
}
