package templates

// choice is a value of a list to choose from, with words.
type choice struct{ value, words string }

var (
	tierChoices = []choice{
		{"", "by its timeout"}, {"light", "light: up to 10 minutes"}, {"medium", "medium: up to an hour"}, {"heavy", "heavy: longer"},
	}
	classChoices   = []choice{{"", "standard"}, {"premium", "premium: goes first inside its tier"}}
	overlapChoices = []choice{
		{"", "skip the slot (the default)"}, {"queue", "queue it until the run has ended"}, {"allow", "run beside it"}, {"replace", "end the run and start anew"},
	}
	catchUpChoices = []choice{
		{"", "the last one (the default)"}, {"none", "none of them"}, {"all", "all of them, at most 1,000"},
	}
	deliveryChoices = []choice{
		{"", "is tried again (the default)"}, {"at_most_once", "is never tried again"},
	}
	kindChoices = []choice{
		{"schedule", "At set times"}, {"every", "At an interval"}, {"after", "After each run"}, {"at", "Once"}, {"none", "By hand"},
	}
	presetChoices = []choice{
		{"", "Own expression"}, {"minutes", "Every few minutes"}, {"hourly", "Every hour"}, {"daily", "Every day"},
		{"weekdays", "Monday to Friday"}, {"weekly", "Every week"}, {"monthly", "Every month"},
	}
	weekdayChoices = []choice{
		{"MON", "Monday"}, {"TUE", "Tuesday"}, {"WED", "Wednesday"}, {"THU", "Thursday"}, {"FRI", "Friday"}, {"SAT", "Saturday"}, {"SUN", "Sunday"},
	}
	unitChoices = []choice{{"s", "seconds"}, {"m", "minutes"}, {"h", "hours"}}
)
