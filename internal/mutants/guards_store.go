package main

const memoryCommit = "store/memory/commit.go"

// storeGuards are the conditions under which a store writes.
var storeGuards = []mutant{
	{
		name: "fence", guard: "an owner whose shard another has taken writes nothing",
		also: "storetest, on each adapter",
		file: memoryCommit,
		old:  "	now := s.terms[c.Shard]\n	switch {\n",
		new:  "	now := s.terms[c.Shard]\n	if c.Term < now.number {\n		s.put(c.Batch)\n		s.drop(c.Batch)\n		return nil\n	}\n	switch {\n",
	},
	{
		name: "handled-revision", guard: "what was changed again meanwhile stays pending",
		also: "storetest, on each adapter",
		file: "store/memory/definitions.go",
		old:  "	if stored == nil || stored.Revision != handled.Revision {",
		new:  "	if stored == nil {",
	},
	{
		name: "definition-conflict", guard: "of two edits of one revision the second is refused",
		also: "storetest, on each adapter",
		file: "store/memory/definitions.go",
		old:  "	case stored.Revision != given.Revision-1:",
		new:  "	case false:",
	},
}
