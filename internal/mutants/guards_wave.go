package main

const (
	dagTrigger = "dag/trigger.go"
	dagWave    = "dag/wave.go"
)

// waveGuards are those of DAGs: needs, rules, epochs, one wave after the other.
var waveGuards = []mutant{
	{
		name: "list-made-anew", guard: "a mapped task that is run again makes its list anew, as after a restart",
		held: test{"engine/core", "^TestMappedTaskThatIsClosedHandsNothingOn$"},
		file: "engine/wave/resume.go",
		old:  "	delete(w.fans, task)\n",
		new:  "",
	},
	{
		name: "items-by-their-runs", guard: "a mapped task whose list is made anew has the items that have runs",
		held: test{"engine/core", "^TestMappedTaskThatSucceededStaysSoWhileItsSourceRunsAgainAfterARestart$"},
		file: "engine/wave/standing.go",
		old:  "		last := slices.MaxFunc(known, func(a, b itemState) int { return cmp.Compare(a.item, b.item) })\n",
		new:  "		return\n		last := slices.MaxFunc(known, func(a, b itemState) int { return cmp.Compare(a.item, b.item) })\n",
	},
	{
		name: "slot-of-mapped", guard: "the slot of a root that an edit has given needs is told though items stand for it",
		held: test{"engine/core", "^TestSlotThatAnEditTookAwayIsRecordedThoughItemsStandForItsTask$"},
		file: "engine/core/wave_run.go",
		old:  "		c.dropPrepared(r, engine.ReasonEdited)",
		new:  "		c.drop(r)",
	},
	{
		name: "needs", guard: "a task starts after what it needs",
		also: "dag's tests against a model",
		file: dagTrigger,
		old:  "	ended := n.succeeded+n.failed+n.skipped == n.needs\n",
		new:  "	ended := n.succeeded+n.failed+n.skipped >= max(n.needs-1, 1)\n",
	},
	{
		name: "rule-all-success", guard: "all_success does not start after a failure",
		also: "dag's tests against a model",
		file: dagTrigger,
		old:  "	default: // AllSuccess\n		switch {\n		case n.failed > 0:\n			return UpstreamFailed\n",
		new:  "	default: // AllSuccess\n		switch {\n",
	},
	{
		name: "rule-none-failed", guard: "none_failed does not start after a failure",
		also: "dag's tests against a model",
		file: dagTrigger,
		old:  "	case NoneFailed:\n		switch {\n		case n.failed > 0:\n			return UpstreamFailed\n",
		new:  "	case NoneFailed:\n		switch {\n",
	},
	{
		name: "rule-one-failed", guard: "one_failed starts after a failure only",
		also: "dag's tests against a model",
		file: dagTrigger,
		old:  "		case n.failed > 0:\n			return Ready\n		case ended:\n			return Skipped",
		new:  "		case n.failed > 0, ended:\n			return Ready",
	},
	{
		name: "waves-overlap", guard: "a root whose slot comes while a wave is open goes into that, if it is of it, and not into one of its own",
		file: "engine/core/wave_open.go",
		old:  "	if w := d.open; w == nil || w.ID == r.Wave {\n		c.goRoot(r)",
		new:  "	if w := d.open; w != nil && w.ID != r.Wave {\n		d.open = nil\n	}\n	if true {\n		c.goRoot(r)",
	},
	{
		name: "wave-by-hand-waits", guard: "what is asked for by hand waits for the open wave",
		file: "engine/core/wave_open.go",
		old:  "	if d.open != nil || d.def == nil {\n",
		new:  "	if d.def == nil {\n",
		more: []edit{{"engine/core/settle.go", "	if d.open == nil { // a run", "	if true { // a run"}, {"engine/core/wave_open.go", "	for again := true; again && d.open == nil; {", "	for again := true; again; {"}},
	},
	{
		name: "wave-joined", guard: "a root's slot joins the wave that it was prepared for",
		file: "engine/core/state_dag.go",
		old:  "	if w := d.open; w != nil && !w.ByHand() && !w.Had(root) {\n		return w.Epoch\n	}",
		new:  "",
	},
	{
		name: "wave-root-once", guard: "a root has one run a wave",
		file: "engine/core/begin.go",
		old:  "	if c.runs[id] != nil { // one waits already",
		new:  "	if false {",
	},
	{
		name: "wave-slot-accounted", guard: "a root's slot that waits for nobody is in the ledger",
		file: "engine/core/begin.go",
		old:  "		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonOverlap)\n		return\n	}\n	r := c.newTaskRun",
		new:  "		return\n	}\n	r := c.newTaskRun",
	},
	{
		name: "wave-roots-without-slot", guard: "a wave does not wait for a root whose schedule is over",
		held: test{"engine/core", "^TestSlotThatAnEditTookAwayIsRecordedThoughItsTaskIsSkipped$"},
		file: "engine/core/wave_close.go",
		old:  "		c.closeTask(w, root, dag.Skipped, \"its schedule has no further slot\")",
		new:  "		_ = root",
	},
	{
		name: "wave-max-parallel", guard: "no more tasks of a wave run than max_parallel",
		file: "engine/wave/next.go",
		old:  "most == 0 || w.running < most",
		new:  "most == 0 || most > 0",
	},
	{
		name: "wave-running-freed", guard: "a task that ends gives its place to another",
		file: "engine/wave/next.go",
		old:  "	w.running--\n",
		new:  "",
	},
	{
		name: "fan-at-once", guard: "no more items run than max_parallel of their task",
		also: "dag's tests",
		file: "dag/fan.go",
		old:  "	if f.stopped || f.atOnce > 0 && f.counts[Running] >= f.atOnce {",
		new:  "	if f.stopped {",
	},
	{
		name: "fan-all-items", guard: "a mapped task ends when all its items have",
		also: "dag's tests",
		file: "engine/wave/next.go",
		old:  "	case f.Done():\n		closed, _ = w.State.Mark(task, f.Outcome())",
		new:  "	case state == dag.Succeeded:\n		closed, _ = w.State.Mark(task, state)",
	},
	{
		name: "wave-restored", guard: "after a restart a task that has ended does not start again",
		file: "engine/wave/resume.go",
		old:  "		w.learn(learned, &r)",
		new:  "		if !r.Status.Terminal() {\n			w.learn(learned, &r)\n		}",
	},
	{
		name: "wave-resume-succeeded", guard: "a wave that goes on does not start again what has succeeded",
		file: "engine/core/wave_resume.go",
		old:  "	c.restore(w, runs) //",
		new:  "	c.restore(w, nil) //",
	},
	{
		name: "wave-resume-revision", guard: "a wave is resumed from the end that was seen",
		file: "engine/core/command_wave.go",
		old:  "e.Wave.Revision != e.Command.Revision || ",
		new:  "",
	},
	{
		name: "wave-cancel-waiting", guard: "cancelling a wave starts nothing more",
		file: "engine/core/wave_cancel.go",
		old:  "	for _, task := range w.State.Cancel() {\n		c.writeEnd(w, task, dag.Cancelled, \"cancelled by \"+by)\n	}",
		new:  "",
	},
	{
		name: "wave-delete", guard: "a deleted DAG's wave is cancelled",
		held: test{"engine/core", "^TestNothingBeginsInTheWaveOfADeletedDAG$"},
		file: "engine/core/load_dag.go",
		old:  "	if d.open != nil {\n		c.cancelWave(d.open, by)\n	}",
		new:  "",
	},
	{
		name: "wave-generation", guard: "a wave goes on with the definition that it began with",
		file: "engine/core/run_make.go",
		old:  "	r.spec, r.Generation = w.Definition.Job(task), w.Generation\n",
		new:  "	r.spec, r.Generation = w.Definition.Job(task), w.dag.def.Generation\n",
	},
	{
		name: "epoch-grows", guard: "epochs go on from the last one",
		file: "engine/core/load_dag.go",
		old:  " epoch: s.LastEpoch,\n",
		new:  "\n",
	},
	{
		name: "root-timer", guard: "a root that has gone in its wave does not go at its slot again",
		held: test{"engine/core", "^TestARootInItsWaveDoesNotWaitForItsSlot$"},
		file: "engine/core/wave_open.go",
		old:  "	c.stopTimer(&r.timer) // its slot",
		new:  "	// its slot",
	},
	{
		name: "waiting-roots-go", guard: "the slot that opens a wave takes the roots along that have waited for it",
		held: test{"engine/core", "^TestARootThatWaitsForTheNextWaveGoesWhenAnotherSlotOpensIt$"},
		file: "engine/core/wave_open.go",
		old:  "	if !opens {\n",
		new:  "	if opens || !opens {\n",
	},
	{
		name: "root-of-this-wave", guard: "a wave does not wait for a root that waits for the next one",
		held: test{"engine/core", "^TestAWaveEndsThoughARootThatGetsNoSlotInItWaitsForTheNextOne$"},
		file: "engine/core/wave_close.go",
		old:  "return r.Wave == w.ID } // others",
		new:  "return r != nil } // others",
	},
	{
		name: "mark-decides-anew", guard: "what was skipped after a task that a user marks is decided anew",
		held: test{"engine/core", "^TestATaskThatWasSkippedRunsOnceWhatItNeedsIsMarkedAsSucceeded$"},
		file: "engine/wave/resume.go",
		old:  "		return w.State.Resume(task)\n",
		new:  "		_ = task\n",
	},
}
