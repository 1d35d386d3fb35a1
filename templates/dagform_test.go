package templates_test

import "github.com/tidewheel/tidewheel/templates"

func newDAGForm() templates.DefinitionForm {
	check := checked()
	check.Tasks, check.More, check.Next[0].Root = 3, 1, "orders"
	check.Next = append(check.Next, templates.ScheduleSlots{Root: "rates", Schedule: "every hour"})
	return templates.DefinitionForm{
		Kind: templates.KindDAG, Page: page("New DAG", templates.SectionDAGs), Definition: "kind: DAG\n", Binaries: []string{"tides", "old"},
		Check: check,
	}
}

func wrongDAGForm() templates.DefinitionForm {
	return templates.DefinitionForm{
		Kind: templates.KindDAG, Page: page("Edit etl", templates.SectionDAGs), Name: "etl", Revision: 7, Definition: "</textarea>" + hostile, Message: hostile,
		Check: templates.Check{Now: now, Refused: "the name is taken", Problems: []templates.CheckProblem{
			{Problem: templates.Problem{Message: hostile, Line: 3, Column: 1}, Path: "tasks.join.needs[0]"},
		}},
	}
}

func overtakenDAGForm() templates.DefinitionForm {
	return templates.DefinitionForm{
		Kind: templates.KindDAG, Page: page("Edit etl", templates.SectionDAGs), Name: "etl", Revision: 7, Generation: 3, Definition: "kind: DAG\n",
		Check: templates.Check{Now: now, Saved: true, Tasks: 1},
		Conflict: &templates.Conflict{By: hostile, At: now, Message: hostile, Revision: 8, Changes: templates.Changes{
			{Kind: templates.LineBoth, Text: "kind: DAG"}, {Kind: templates.LineAdded, Text: "  tell: {binary: notify}"},
		}},
	}
}
