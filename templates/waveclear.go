package templates

// WaveClearing is the page that asks how a task of a wave is run again.
type WaveClearing struct {
	Page    Page
	ID      string
	Task    string
	Item    string // "3"; "" for the whole task
	Mapped  bool   // the task has items
	State   string
	What    string // the choice: "after" or "alone"
	Problem string
	After   int // how many tasks come after it

	Payload, Variables string // as typed
}

// changes reports whether the run can be given other arguments or another payload.
func (v WaveClearing) changes() bool { return !v.Mapped || v.Item != "" }

type clearChoice struct{ Value, Name, Reason string }

// outlook says what comes after the task.
func (v WaveClearing) outlook() string {
	if v.After == 0 {
		return "No task comes after it."
	}
	return Plural(int64(v.After), "task comes", "tasks come") + " after it."
}

// choices say what each way to run it again does.
func (v WaveClearing) choices() []clearChoice {
	what := "Only this task"
	switch {
	case v.Item != "":
		what = "Only this item"
	case v.Mapped:
		what = "Only this task, with all of its items"
	}
	alone := clearChoice{Value: "alone", Name: what, Reason: "All other tasks keep their results, and do not see what it leaves this time."}
	if v.After == 0 {
		alone.Reason = "All other tasks keep their results."
		return []clearChoice{alone}
	}
	return []clearChoice{
		{
			Value: "after", Name: "With the " + Plural(int64(v.After), "task", "tasks") + " after it",
			Reason: "They are decided anew once it has ended, and run again where their rules and conditions say so.",
		},
		alone,
	}
}
