package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// Waves are looked at every so often: the larger they are, the less often.
const (
	waveLookLeast = 100 * time.Millisecond
	waveLookMost  = 2 * time.Second
	waveLookShare = 10 // the least pause, as a multiple of how long a look took
)

// awaitWave follows a wave to its end, prints each task when it has ended, and makes the wave's verdict the exit status.
// printed holds the tasks that are already printed. A wave that was resumed is followed from its next start: resumed is
// how often it had been started again before.
func (c *cli) awaitWave(ctx context.Context, api *client.Client, id string, printed map[string]bool, resumed int) error {
	output := c.out
	if c.output != "table" {
		output = c.err // standard output is for the wave itself
	}
	said := ""
	for {
		began := c.now()
		wave, err := api.Wave(ctx, id)
		switch {
		case errors.Is(err, client.ErrUnreachable):
			fmt.Fprintln(c.err, "The server does not answer; trying again.")
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		ended := wave.Status.Terminal() && wave.Resumed >= resumed
		if status := c.waveWords(&wave.Wave); status != said && !ended {
			fmt.Fprintf(c.err, "Wave %s is %s.\n", id, status)
			said = status
		}
		if wave.Resumed >= resumed {
			c.printEnded(output, wave.Tasks, printed)
		}
		if ended {
			return c.waveVerdict(&wave)
		}
		if err := pause(ctx, min(max(waveLookLeast, waveLookShare*c.now().Sub(began)), waveLookMost)); err != nil {
			return err
		}
	}
}

// waveWords is a wave's status with its number, once it has one.
func (c *cli) waveWords(wave *wire.Wave) string {
	words := wave.Status.String()
	if wave.Epoch > 0 {
		words += fmt.Sprintf(" (epoch %d)", wave.Epoch)
	}
	if wave.CancelBy != "" && !wave.Status.Terminal() {
		words += " (cancelling)"
	}
	return words
}

// tellEnded prints the tasks that have ended since the last call.
func (c *cli) printEnded(w io.Writer, tasks []wire.WaveTask, printed map[string]bool) {
	for i := range tasks {
		t := &tasks[i]
		switch t.State {
		case "succeeded", "failed", "cancelled", "skipped", "upstream_failed":
		default:
			continue
		}
		if printed[t.Name] {
			continue
		}
		printed[t.Name] = true
		words := fmt.Sprintf("%s %s", t.Name, t.State)
		if t.Items != nil {
			words += fmt.Sprintf(" (%d of %s succeeded)", t.Items.Succeeded, count(t.Items.Total, "item"))
		}
		if !t.Started.IsZero() {
			words += " after " + roughly(time.Duration(t.Took))
		}
		if t.Reason != "" && t.State != "succeeded" {
			words += ": " + t.Reason
		}
		fmt.Fprintln(w, printable(words))
	}
}

func (c *cli) waveVerdict(wave *wire.WaveDetail) error {
	if err := c.print(wave, func(io.Writer) {}); err != nil {
		return err
	}
	if wave.Status == engine.StatusSucceeded {
		fmt.Fprintf(c.err, "Wave %s succeeded after %s.\n", wave.ID, c.waveTook(&wave.Wave))
		return nil
	}
	reason := ""
	if wave.Reason != "" {
		reason = ": " + wave.Reason
	}
	return &outcomeError{fmt.Sprintf("wave %s ended as %s%s", wave.ID, wave.Status, reason)}
}
