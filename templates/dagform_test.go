package templates_test

import "github.com/tidewheel/tidewheel/templates"

func newDAGForm() templates.DAGForm {
	check := checked()
	return templates.DAGForm{
		Page: page("New DAG", templates.SectionDAGs), Definition: "kind: DAG\n", Binaries: []string{"tides", "old"},
		Check: templates.DAGCheck{
			Check: templates.Check{Now: now}, Tasks: 3, More: 1,
			Roots: []templates.RootCheck{{Task: "orders", Schedule: check.Schedule, Zone: check.Zone, Next: check.Next}, {Task: "rates", Schedule: "every hour"}},
		},
	}
}

func wrongDAGForm() templates.DAGForm {
	return templates.DAGForm{
		Page: page("Edit etl", templates.SectionDAGs), Name: "etl", Revision: 7, Definition: "</textarea>" + hostile, Message: hostile,
		Check: templates.DAGCheck{Check: templates.Check{Now: now, Refused: "the name is taken", Problems: []templates.CheckProblem{
			{Problem: templates.Problem{Message: hostile, Line: 3, Column: 1}, Path: "tasks.join.needs[0]"},
		}}},
	}
}

func overtakenDAGForm() templates.DAGForm {
	return templates.DAGForm{
		Page: page("Edit etl", templates.SectionDAGs), Name: "etl", Revision: 7, Generation: 3, Definition: "kind: DAG\n",
		Check: templates.DAGCheck{Check: templates.Check{Now: now, Saved: true, Manual: true}, Tasks: 1},
		Conflict: &templates.Conflict{By: hostile, At: now, Message: hostile, Revision: 8, Changes: templates.Changes{
			{Kind: templates.LineBoth, Text: "kind: DAG"}, {Kind: templates.LineAdded, Text: "  tell: {binary: notify}"},
		}},
	}
}
