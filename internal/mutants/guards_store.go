package main

const memoryCommit = "store/memory/commit.go"

// storeGuards are the conditions under which a store writes.
var storeGuards = []mutant{
	{
		name: "run-revision", guard: "a write of a run names the revision that it replaces",
		also: "storetest, on each adapter",
		file: memoryCommit,
		old:  "stored != nil && stored.Revision == run.Revision-1 && engine",
		new:  "stored != nil && engine",
	},
	{
		name: "run-insert", guard: "a run is inserted only where there is none",
		also: "storetest, on each adapter",
		file: memoryCommit,
		old:  "	case stored == nil && run.Revision == 1, ",
		new:  "	case run.Revision == 1, ",
	},
	{
		name: "task-revision", guard: "a write of a scheduled task names the revision that it replaces",
		also: "storetest, on each adapter",
		file: memoryCommit,
		old:  "found && stored.Revision == write.Task.Revision-1:",
		new:  "found:",
	},
	{
		name: "wave-revision", guard: "a write of a wave names the revision that it replaces",
		also: "storetest, on each adapter",
		file: "store/memory/waves.go",
		old:  "stored != nil && stored.Revision == wave.Revision-1:",
		new:  "stored != nil:",
	},
	{
		name: "handled-revision", guard: "what was changed again meanwhile stays pending",
		also: "storetest, on each adapter",
		file: "store/memory/definitions.go",
		old:  "	if stored == nil || d.head(stored).revision != handled.Revision {",
		new:  "	if stored == nil {",
	},
	{
		name: "manual-key", guard: "a key asked for twice is one run",
		also: "storetest, on each adapter",
		file: "store/memory/history.go",
		old:  "	if s.runs[run.ID] != nil {\n		return fmt.Errorf(\"memory: insert run",
		new:  "	if s.runs[run.ID] != nil && false {\n		return fmt.Errorf(\"memory: insert run",
	},
	{
		name: "write-content", guard: "a write of a revision that is there with other content is a conflict",
		also: "storetest, on each adapter",
		file: "engine/same.go",
		old:  "	return a.ID == b.ID && a.Revision == b.Revision &&\n		a.Namespace == b.Namespace && a.JobUID",
		new:  "	return a.ID == b.ID && a.Revision == b.Revision || a.ID == \"\" &&\n		a.Namespace == b.Namespace && a.JobUID",
	},
	{
		name: "definition-conflict", guard: "of two edits of one revision the second is refused",
		also: "storetest, on each adapter",
		file: "store/memory/definitions.go",
		old:  "	case d.head(stored).revision != h.revision-1:",
		new:  "	case false:",
	},
}
