package templates

// dagStarts are the graphs to begin with.
var dagStarts = []struct{ value, title, words string }{
	{"empty", "One task", "the first of what you draw"},
	{"chain", "Chain", "one task after the other"},
	{"diamond", "Diamond", "two at a time, then both together"},
	{"fan", "Fan-out over a list", "one run for each item, then all together"},
	{"cleanup", "Clean up after failure", "a last task that always runs"},
}

var (
	triggerChoices = []choice{
		{"", "all upstream tasks succeeded"}, {"none_failed", "none failed; some may be skipped"},
		{"all_done", "all finished, any result"}, {"one_success", "at least one succeeded"}, {"one_failed", "at least one failed"},
		{"always", "all finished, even in a cancelled wave"},
	}
	waveOverlapChoices = []choice{{"", "skip the slot (the default)"}, {"queue", "queue one wave"}}
)
