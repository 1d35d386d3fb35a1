package templates

// alertsOf says what of alerts a form offers.
type alertsOf struct {
	prefix string // of the paths: "task." for a task of a DAG
	on     []choice
	slow   string // the label of alerts.duration
	slots  bool   // it has slots of its own
}

var (
	slotAlertChoices = []choice{
		{"missed", "a slot is missed"}, {"skipped", "a slot is skipped because of the run before it"},
		{"recovered", "it is over again"}, {"none", "never, whatever the namespace asks for"},
	}
	jobAlerts = alertsOf{
		on:   append([]choice{{"failed", "a run fails"}, {"dead", "a run leaves a dead letter"}}, slotAlertChoices...),
		slow: "A run takes longer than", slots: true,
	}
	dagAlerts = alertsOf{
		on:   append([]choice{{"failed", "a wave fails"}, {"dead", "a task leaves a dead letter"}}, slotAlertChoices...),
		slow: "A wave takes longer than", slots: true,
	}
	taskAlerts = alertsOf{
		prefix: "task.", slow: "It takes longer than",
		on: []choice{{"failed", "it fails"}, {"dead", "it leaves a dead letter"}, {"recovered", "it is over again"}},
	}
)

func targetChoices(names []string) []choice {
	choices := make([]choice, len(names))
	for i, name := range names {
		choices[i] = choice{name, name}
	}
	return choices
}
