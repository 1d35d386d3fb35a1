package main

const (
	coreJob      = "engine/core_job.go"
	coreOverdue  = "engine/core_overdue.go"
	coreLedger   = "engine/core_ledger.go"
	corePrepared = "engine/core_prepared.go"
	coreEdit     = "engine/core_edit.go"
)

// slotGuards see to it that every slot ends once: as a run, or in the ledger.
var slotGuards = []mutant{
	{
		name: "range-of-before", guard: "a range of the schedule before an edit is none of the present one",
		held: test{"engine", "^TestARangeOfTheScheduleBeforeIsNoneOfThePresentOne$"},
		file: coreLedger,
		old:  "!stored.From.Before(j.def.UpdatedAt) && ",
		new:  "",
	},
	{
		name: "writer", guard: "of two engines that write the same of a scheduled task one is refused",
		held: test{"store/memory", "^TestStoreKeepsItsPromises$"},
		file: "engine/same.go",
		old:  "		a.Writer == b.Writer &&\n",
		new:  "",
	},
	{
		name: "take-back-shared", guard: "what another owner may publish is taken back before it is given up",
		held: test{"engine", "^TestWhatAnotherOwnerMayPublishIsTakenBackBeforeItIsGivenUp$"},
		file: "engine/core_prepared.go",
		old:  "	return r.doubt || c.config.Writer != 0 && ",
		new:  "	return r.doubt || false && ",
	},
	{
		name: "slot-identity", guard: "a run's id is its slot's, whenever it is made",
		also: "nearly all transcripts",
		file: coreJob,
		old:  "	r := c.newRun(j, SlotRunID(j.uid, slot), trigger)",
		new:  "	r := c.newRun(j, SlotRunID(j.uid, c.now), trigger)",
	},
	{
		name: "slot-has-run", guard: "a slot that has a run gets no other",
		held: test{"engine", "^TestTranscripts$/^(crash|manual)$"},
		file: coreJob,
		old:  "	if slot.Equal(j.slotRun) || c.runs[SlotRunID(j.uid, slot)] != nil {\n		return true\n	}",
		new:  "",
	},
	{
		name: "slot-in-ledger", guard: "a slot that is in the ledger gets no run",
		file: coreJob,
		old:  "	return j.noted(slot)\n}",
		new:  "	return false\n}",
	},
	{
		name: "noted-then-dropped", guard: "what was to be dropped when its engine died is dropped",
		file: "engine/core_run.go",
		old:  "		case r.doubt && r.Trigger != TriggerBackfill && r.told(): // it was to be dropped\n			c.takeBack(r, ReasonOutage)\n",
		new:  "",
	},
	{
		name: "told-before-ledger", guard: "the ledger is written after the scheduled task or the run that says the same",
		file: "engine/batch.go",
		old:  "if len(b.DropRuns) > 0 || len(b.Slots) > 0 {",
		new:  "if len(b.DropRuns) > 0 {",
	},
	{
		name: "noted-by-task", guard: "what a scheduled task has passed over is told once more by whoever reads it",
		file: coreLedger,
		old:  "		for _, slots := range noting.Slots {\n			c.putAgain(j, nil, slots)\n		}\n",
		new:  "",
	},
	{
		name: "delay-between", guard: "a range of a fixed delay has no slots but those that are counted from its first",
		held: test{"engine", "^TestASlotBetweenThoseOfAFixedDelayIsTold$"},
		file: coreLedger,
		old:  "	if schedule.Kind() != cron.KindAfter {\n		return names(schedule, slot)",
		new:  "	if names(schedule, slot) {\n		return true",
	},
	{
		name: "edited-twice", guard: "what an edit plans is looked for in the ledger from when it was made",
		held: test{"engine", "^TestASlotThatAFormTwoEditsAgoHadDoesNotComeAgain$"},
		file: "engine/shard/loader.go",
		old:  "	if edited && (first.IsZero() ||",
		new:  "	if edited && false && (first.IsZero() ||",
	},
	{
		name: "given-up-by-run", guard: "a run that was given up is given up by whoever reads it",
		file: "engine/core_run.go",
		old:  "	if r.isGivenUp() {\n		c.giveUpAgain(r)\n		return\n	}\n",
		new:  "",
	},
	{
		name: "given-up-before", guard: "a run of a task tells of the slot of the one in whose place it is",
		held: test{"engine", "^TestASlotIsToldThoughTheNextOneHasItsRun$"},
		file: corePrepared,
		old:  "	if r.Task == \"\" {\n		r.GivenUp = nil\n	}\n",
		new:  "	r.GivenUp = nil\n",
	},
	{
		name: "given-up-before-skipped", guard: "so it does where its task is skipped",
		held: test{"engine", "^TestASlotThatAnEditTookAwayIsToldThoughItsTaskIsSkipped$"},
		file: "engine/core_wave_load.go",
		old:  "				c.tellBefore(&run{",
		new:  "				_ = (&run{",
	},
	{
		name: "made-as-prepared", guard: "a run is made as prepared, together with the task that passes its slot over",
		held: test{"engine", "^TestTheRunOfASlotThatWasToldOtherwiseIsTakenBack$"},
		file: "engine/ready.go",
		old:  "if run.Revision == 1 && run.ofPassedSlot() && run.Status != StatusScheduled {",
		new:  "if false && run.Revision == 1 {",
	},
	{
		name: "advance-before-begin", guard: "the scheduled task moves on when its slot's run is made",
		file: coreJob,
		old:  "	j.postpone = false\n	c.advance(j)\n	c.begin(j, slot, TriggerSchedule, \"\")",
		new:  "	j.postpone = false\n	c.begin(j, slot, TriggerSchedule, \"\")\n	c.advance(j)\n	c.advance(j)",
	},
	{
		name: "blackout", guard: "an excluded slot does not fire",
		file: coreJob,
		old:  "	if j.schedule.Excluded(slot) {\n		c.note(j, slot, OutcomeSkipped, ReasonBlackout)",
		new:  "	if j.schedule.Excluded(slot) && false {\n		c.note(j, slot, OutcomeSkipped, ReasonBlackout)",
	},
	{
		name: "missed-noted", guard: "a slot that is not brought back is in the ledger",
		file: coreOverdue,
		old:  "			c.note(j, s, outcome, reason)",
		new:  "			_ = outcome",
	},
	{
		name: "catch-up-none", guard: "catch-up none brings nothing back",
		file: coreOverdue,
		old:  "	case spec.CatchUpNone:\n",
		new:  "	case spec.CatchUpNone:\n		keep = 1\n",
	},
	{
		name: "catch-up-last", guard: "catch-up last brings back one slot",
		file: coreOverdue,
		old:  "	case spec.CatchUpLast:\n		keep = 1",
		new:  "	case spec.CatchUpLast:\n		keep = 2",
	},
	{
		name: "catch-up-bound", guard: "catch-up all brings back so many slots, and no more",
		file: coreOverdue,
		old:  "		keep = c.config.MaxCatchUp",
		new:  "		keep = 10 * c.config.MaxCatchUp",
	},
	{
		name: "catch-up-window", guard: "nothing older than the catch-up window is brought back",
		file: coreOverdue,
		old:  "		if passed[i].Before(oldest) {",
		new:  "		if false && passed[i].Before(oldest) {",
	},
	{
		name: "superseded", guard: "a prepared run whose slot passed in an outage is caught up as the policy says",
		file: coreRun,
		old:  "!r.Waiting && c.superseded(r) {",
		new:  "false {",
	},
	{
		name: "passed-in-pause", guard: "what passed in a pause is skipped, not late",
		file: coreEdit,
		old:  "		c.overdue(j, earlier(j.pausedAt(c.now), c.now), ReasonPaused)\n		c.overdue(j, c.now, ReasonOutage)",
		new:  "		c.overdue(j, c.now, ReasonOutage)",
	},
	{
		name: "after-moves-on", guard: "a fixed delay goes on after its run's end",
		held: test{"engine", "^TestTranscripts$/^kinds$"},
		file: "engine/core_after.go",
		old:  "	if slotRun != nil && slotRun.Status.Terminal() {",
		new:  "	if false && slotRun.Status.Terminal() {",
	},
	{
		name: "horizon", guard: "a job whose next slot is within the horizon is not forgotten",
		also: "engine's tests: what is forgotten",
		file: "engine/ready.go",
		old:  "	if j.task != nil && !j.task.RunAt.After(c.horizon) {\n		return\n	}\n	c.stopTimer",
		new:  "	c.stopTimer",
	},
}
