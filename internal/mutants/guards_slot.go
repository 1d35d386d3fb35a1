package main

const (
	coreOverdue = "engine/core/overdue.go"
	coreEdit    = "engine/core/edit.go"
)

// slotGuards see to it that every slot ends once: as a run, or in the ledger.
var slotGuards = []mutant{
	{
		name: "ledger-generation", guard: "a range of the ledger is of one generation",
		held: test{"engine/core", "^TestARangeOfTheLedgerIsOfOneGeneration$"},
		file: "engine/core/slot.go",
		old:  "open.Generation == generation && ",
		new:  "",
	},
	{
		name: "slot-identity", guard: "a run's id is its slot's, whenever it is made",
		also: "nearly all transcripts",
		file: "engine/core/begin.go",
		old:  "	r := c.newRun(j, engine.SlotRunID(j.uid, slot), trigger)",
		new:  "	r := c.newRun(j, engine.SlotRunID(j.uid, c.now), trigger)",
	},
	{
		name: "advance-before-begin", guard: "the scheduled task moves on when its slot's run is made",
		file: coreOverdue,
		old:  "	c.setSlot(j, passed.Next, passed.More)\n",
		new:  "	c.setSlot(j, passed.Next, passed.More)\n	if next, ok := j.schedule.Next(passed.Next); len(passed.OnTime) > 0 {\n		c.setSlot(j, next, ok)\n	}\n",
	},
	{
		name: "blackout", guard: "an excluded slot does not fire",
		file: "engine/plan/overdue.go",
		old:  "	for _, slot := range recent {\n		if o.Schedule.Excluded(slot) {",
		new:  "	for _, slot := range recent {\n		if false {",
	},
	{
		name: "turn-by-turn", guard: "slots of a root that come one wave after the other wait for their turn",
		file: coreOverdue,
		old:  "		if j.catchesUpInOrder() {\n",
		new:  "		if j.catchesUpInOrder() && false {\n",
	},
	{
		name: "turn-behind", guard: "a slot that comes while others wait for their turn waits behind them",
		held: test{"engine/core", "^TestASlotThatComesInACatchUpWaitsBehindTheOthers$"},
		file: coreOverdue,
		old:  "		if len(j.task.Waiting) > 0 { // it",
		new:  "		if false { // it",
	},
	{
		name: "turn-from-its-slot", guard: "a slot waits for its turn from its time on, and not before",
		held: test{"engine/core", "^TestASlotThatAnEditTookAwayDoesNotWaitBehindTheOthers$"},
		file: "engine/core/prepare.go",
		old:  "(skips || len(j.task.Waiting) > 0) {",
		new:  "skips {",
	},
	{
		name: "turn-bound", guard: "so many slots wait for their turn, and no more",
		held: test{"engine/core", "^TestSlotsThatWaitForTheirTurnAreBounded$"},
		file: coreOverdue,
		old:  "	if len(j.task.Waiting) >= c.config.MaxCatchUp {",
		new:  "	if false {",
	},
	{
		name: "turn-paused", guard: "what waits for its turn does not go in a pause",
		held: test{"engine/core", "^TestRootsSlotsThatWaitForTheirTurnOutliveAPause$"},
		file: coreOverdue,
		old:  "	for j.task != nil && !j.def.Paused && ",
		new:  "	for j.task != nil && ",
	},
	{
		name: "turn-edited", guard: "an edit of the policy ends a catch-up",
		held: test{"engine/core", "^TestAnEditOfThePolicyEndsTheCatchUp$"},
		file: coreEdit,
		old:  "	if !inOrder {",
		new:  "	if false && !inOrder {",
	},
	{
		name: "missed-noted", guard: "a slot that is not brought back is in the ledger",
		file: "engine/plan/overdue.go",
		old:  "			p.Notes = append(p.Notes, Note{slot, outcome, reason})",
		new:  "			_, _ = outcome, reason",
	},
	{
		name: "catch-up-none", guard: "catch-up none brings nothing back",
		file: "engine/plan/overdue.go",
		old:  "	case o.Task.Paused() || o.CatchUp.Policy == spec.CatchUpNone:",
		new:  "	case o.Task.Paused():",
	},
	{
		name: "catch-up-last", guard: "catch-up last brings back one slot",
		file: "engine/plan/overdue.go",
		old:  "	return 1\n",
		new:  "	return 2\n",
	},
	{
		name: "catch-up-bound", guard: "catch-up all brings back so many slots, and no more",
		file: "engine/plan/overdue.go",
		old:  "		return o.Most\n",
		new:  "		return 10 * o.Most\n",
	},
	{
		name: "catch-up-window", guard: "nothing older than the catch-up window is brought back",
		file: "engine/plan/overdue.go",
		old:  " && !passed[i].Before(oldest); i-- {",
		new:  " && (true || passed[i].Before(oldest)); i-- {",
	},
	{
		name: "superseded", guard: "a prepared run whose slot passed in an outage is caught up as the policy says",
		file: "engine/core/admit.go",
		old:  "	if r.untouched() && c.superseded(r) {",
		new:  "	if false {",
	},
	{
		name: "passed-in-pause", guard: "what passed in a pause is skipped, not late",
		file: coreEdit,
		old:  "		c.setPaused(j, changed)\n",
		new:  "		c.setPaused(j, time.Time{})\n",
	},
	{
		name: "pause-of-a-clock-that-went-back", guard: "an edit after a clock went back is in no pause that lies ahead",
		held: test{"engine/core", "^TestAPauseThatTheClockWentBackBehindIsOver$"},
		file: coreEdit,
		old:  "			j.task.PausedUntil = plan.Earlier(j.task.PausedUntil, c.now)\n",
		new:  "",
	},
	{
		name: "horizon", guard: "a job whose next slot is within the horizon is not forgotten",
		also: "engine's tests: what is forgotten",
		file: "engine/core/forget.go",
		old:  "	if j.task != nil && !j.task.RunAt.After(c.horizon) {\n		return\n	}\n	c.stopTimer",
		new:  "	c.stopTimer",
	},
	{
		name: "taken", guard: "a slot that a backfill has taken gets no other run",
		file: "engine/plan/overdue.go",
		old:  "		case o.Task.Takes(p.Next):\n",
		new:  "",
	},
	{
		name: "accounted", guard: "an edit plans nothing that was accounted for",
		file: "engine/plan/edit.go",
		old:  "ok && !slot.After(task.Accounted);",
		new:  "ok && false;",
	},
	{
		name: "first-since", guard: "no schedule accounts for slots before it was made",
		held: test{"engine/core", "^TestSlotsBeforeTheFirstScheduleAreNotTakenForItsOwn$"},
		file: "engine/core/slot.go",
		old:  "			Since: j.def.UpdatedAt.Truncate(time.Millisecond), //",
		new:  "			//",
	},
	{
		name: "edited-away", guard: "an edit records the slots that it takes away, also those that lie ahead",
		held: test{"engine/plan", "^TestAnEditRecordsTheSlotsThatAClockHasPassedBefore$"},
		file: "engine/plan/edit.go",
		old:  "			away = append(away, slot)\n",
		new:  "			_ = slot\n",
	},
	{
		name: "accounted-since", guard: "an edit notes no slot of which the task does not know any more what became of it",
		held: test{"engine/core", "^TestNoSlotIsRecordedTwiceThatATaskHasForgotten$"},
		file: "engine/plan/edit.go",
		old:  "		if slot.After(task.Since) && ",
		new:  "		if ",
	},
}
