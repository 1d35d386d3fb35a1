package core

import (
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// waveCommand acts on what a user asked for about a wave.
func (c *Core) waveCommand(e CommandReceived) {
	if e.DAG != nil {
		c.loadDAG(e.DAG)
	}
	d := c.dags[e.Command.JobUID]
	if d == nil {
		c.commandDone(e.Command)
		return
	}
	switch e.Command.Kind {
	case engine.CommandStartWave:
		c.commandDone(e.Command)
		if e.Wave == nil && e.Command.Wave != nil {
			c.startWave(d, *e.Command.Wave)
		}
	case engine.CommandCancelWave:
		c.commandDone(e.Command)
		if w := d.open; w != nil && w.ID == e.Command.RunID {
			c.cancelWave(w, e.Command.By)
		}
		if at := slices.IndexFunc(d.asked, func(w *waveState) bool { return w.ID == e.Command.RunID }); at >= 0 {
			w := d.asked[at]
			d.asked = slices.Delete(d.asked, at, at+1)
			c.endAsked(w, e.Command.By)
		}
	case engine.CommandMarkTask, engine.CommandResumeWave, engine.CommandClearTask:
		c.resumeCommand(d, e)
	default:
		c.commandDone(e.Command)
	}
	c.idleDAGs = append(c.idleDAGs, d)
}

// startWave takes a wave that was asked for. Of a DAG that is deleted meanwhile it ends at once.
func (c *Core) startWave(d *dagState, asked engine.Wave) {
	asked.Revision = 0
	w := d.wave(asked)
	c.ask(d, w)
	c.touchWave(w)
	if d.def == nil {
		c.abandonDAG(d)
	}
}

// resumeCommand resumes a wave that has ended, now or once the open one has; or marks a task of the open one.
func (c *Core) resumeCommand(d *dagState, e CommandReceived) {
	w := e.Wave
	switch {
	case d.open != nil && d.open.ID == e.Command.RunID:
		c.commandDone(e.Command)
		if e.Command.Kind == engine.CommandMarkTask {
			c.mark(d.open, e.Command)
		}
	case w == nil, !w.Status.Terminal(), w.Revision != e.Command.Revision, d.def == nil, w.Revision <= d.resumed[w.ID]: // read before the wave was resumed
		c.commandDone(e.Command)
	case d.open != nil, c.prepared(d):
		c.definitionOf(d, &e)
		d.resumes = append(d.resumes, e)
	default:
		c.resumeWave(d, e)
	}
}
