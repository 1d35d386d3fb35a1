package main

// editGuards are those of a definition's changes: edit, pause, deletion.
var editGuards = []mutant{
	{
		name: "paused-before-resumed", guard: "what an unseen edit has scheduled does not fire in the pause before the resumption",
		held: test{"engine/core", "^TestRootThatIsAddedToAPausedDAGFiresNoSlotOfThePause$"},
		file: "engine/core/edit.go",
		old:  "	if idle && j.stoppedAfterEdit() {\n",
		new:  "	if false && idle {\n",
		more: []edit{{"engine/core/edit.go", "	if j.stoppedAfterEdit() {\n", "	if false {\n"}},
	},
	{
		name: "pause-prepared", guard: "a pause takes back what is prepared",
		file: "engine/core/plan.go",
		old:  "		reason := engine.ReasonEdited\n",
		new:  "		if j.def != nil && j.def.Paused {\n			continue\n		}\n		reason := engine.ReasonEdited\n",
	},
	{
		name: "edit-prepared", guard: "an edit takes back what is prepared and not planned any more",
		file: "engine/core/plan.go",
		old:  "		c.giveUp(r, reason)\n		if r.gone() {",
		new:  "		if reason != engine.ReasonEdited || j.def == nil {\n			c.giveUp(r, reason)\n		}\n		if r.gone() {",
	},
	{
		name: "delete-prepared", guard: "a deletion ends what the job left behind",
		file: "engine/core/load_job.go",
		old:  "			c.abandon(r)\n		}\n	}\n	c.finishLoad(j, s)",
		new:  "			_ = r\n		}\n	}\n	c.finishLoad(j, s)",
	},
	{
		name: "tombstone", guard: "a deleted job's generations stay while its runs need them",
		held: test{"engine/core", "^TestTranscripts$/^delete$"},
		file: "engine/core/load_job.go",
		old:  "	if s.Job.Deleted && len(j.live) > 0 {",
		new:  "	if false {",
	},
	{
		name: "definition-revision", guard: "a slow read brings no older definition",
		file: "engine/core/load_job.go",
		old:  "	known := s.Job != nil && s.Job.Revision <= j.revision // a slow read may even be older",
		new:  "	known := s.Job != nil && s.Job.Revision == j.revision",
	},
	{
		name: "generation", guard: "a run keeps the definition that it was made of",
		file: "engine/core/run_make.go",
		old:  "	r.spec = j.specs[stored.Generation]\n	if r.spec == nil && j.def != nil {",
		new:  "	if j.def != nil {",
	},
	{
		name: "pause-parks", guard: "a paused job plans nothing",
		file: "engine/core/edit.go",
		old:  "			c.allOverdue(j, changed)\n		}\n		c.setPaused(j, engine.Parked)\n",
		new:  "			c.allOverdue(j, changed)\n		}\n",
		more: []edit{
			{"engine/core/plan.go", "	case j.def.Paused || j.task.Slot", "	case j.task.Slot"},
			{"engine/core/prepare.go", "	if j.task == nil || j.def == nil || j.def.Paused || j.schedule == nil {", "	if j.task == nil || j.def == nil || j.schedule == nil {"},
		},
	},
	{
		name: "edit-closes-old", guard: "an edit accounts for the slots of the schedule that it replaced",
		file: "engine/core/edit.go",
		old:  "	schedule, def, inOrder := j.schedule,",
		new:  "	if !j.def.UpdatedAt.IsZero() {\n		return replaced\n	}\n	schedule, def, inOrder := j.schedule,",
	},
	{
		name: "paused-ahead", guard: "a pause by a clock that is ahead accounts for no slot before its time",
		file: coreEdit,
		old:  "	changed := plan.Earlier(j.pausedAt(c.now), c.now)\n",
		new:  "	changed := j.pausedAt(c.now)\n",
	},
}
