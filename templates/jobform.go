package templates

// choice is a value of a list to choose from, with words.
type choice struct{ value, words string }

var (
	tierChoices = []choice{
		{"", "by its timeout"}, {"light", "light: up to 10 minutes"}, {"medium", "medium: up to an hour"}, {"heavy", "heavy: longer"},
	}
	classChoices   = []choice{{"", "standard"}, {"premium", "premium: runs first within its tier"}}
	overlapChoices = []choice{
		{"", "skip the slot (the default)"}, {"queue", "queue it until the run has finished"}, {"allow", "run in parallel"}, {"replace", "cancel the earlier run, start a new one"},
	}
	catchUpChoices = []choice{
		{"", "the last one (the default)"}, {"none", "none of them"}, {"all", "all of them, at most 1,000"},
	}
	deliveryChoices = []choice{
		{"", "is retried (the default)"}, {"at_most_once", "is never retried"},
	}
	stderrChoices = []choice{
		{"", "in one order with standard output (the default)"}, {"marked", "marked as such"},
	}
	kindChoices = []choice{
		{"schedule", "At set times"}, {"every", "At an interval"}, {"after", "After each run"}, {"at", "Once"}, {"none", "Manual"},
	}
	presetChoices = []choice{
		{"", "Custom expression"}, {"minutes", "Every few minutes"}, {"hourly", "Every hour"}, {"daily", "Every day"},
		{"weekdays", "Monday to Friday"}, {"weekly", "Every week"}, {"monthly", "Every month"},
	}
	weekdayChoices = []choice{
		{"MON", "Monday"}, {"TUE", "Tuesday"}, {"WED", "Wednesday"}, {"THU", "Thursday"}, {"FRI", "Friday"}, {"SAT", "Saturday"}, {"SUN", "Sunday"},
	}
	unitChoices = []choice{{"s", "seconds"}, {"m", "minutes"}, {"h", "hours"}}
)
