package ui

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
)

// rhythm is the summary of a DAG as a sentence.
func rhythm(definition *spec.DAG) string {
	words := definition.Summary()
	return strings.ReplaceAll(words, "; ", " · ")
}

// waveTook is how long a wave took that has ended; 0 for others.
func waveTook(wave *engine.Wave) time.Duration {
	if !wave.Status.Terminal() || wave.StartedAt.IsZero() {
		return 0
	}
	return wave.Took(wave.FinishedAt)
}

// rested is how long a wave has rested between an end and a resume.
func rested(wave *engine.Wave) (sum time.Duration) {
	for _, rest := range wave.Rests {
		sum += rest.To.Sub(rest.From)
	}
	return sum
}

func viewWaveRow(wave *engine.Wave) templates.WaveRow {
	row := templates.WaveRow{
		ID: wave.ID, Epoch: wave.Epoch, Status: wave.Status.String(), Reason: readable([]byte(wave.Reason)), Trigger: triggerName(wave),
		By: byWhom(wave.Trigger, wave.By), Slot: wave.Slot, Created: wave.CreatedAt, Started: wave.StartedAt, Rested: rested(wave), Tally: tallyWords(wave.Tally),
	}
	if wave.Status.Terminal() {
		row.Finished = wave.FinishedAt
	}
	return row
}

func viewWaveRows(waves []engine.Wave) []templates.WaveRow {
	rows := make([]templates.WaveRow, len(waves))
	for i := range waves {
		rows[i] = viewWaveRow(&waves[i])
	}
	return rows
}

// tallyWords says how the tasks of a wave ended; "" before they have.
func tallyWords(tally engine.WaveTally) string {
	var parts []string
	for _, count := range []struct {
		n    int
		what string
	}{{tally.Succeeded, "succeeded"}, {tally.Failed, "failed"}, {tally.Cancelled, "cancelled"}, {tally.Skipped, "skipped"}} {
		if count.n > 0 {
			parts = append(parts, strconv.Itoa(count.n)+" "+count.what)
		}
	}
	return strings.Join(parts, ", ")
}

// triggerName says what asked for a wave.
func triggerName(wave *engine.Wave) string {
	run := engine.Run{Trigger: wave.Trigger, By: wave.By}
	return triggerWords(&run)
}
