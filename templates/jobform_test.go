package templates_test

import (
	"time"

	"github.com/tidewheel/tidewheel/templates"
)

func checked() templates.Check {
	return templates.Check{Now: now, Next: []templates.ScheduleSlots{{Schedule: "at 03:00, every day, Asia/Dhaka", Zone: "Asia/Dhaka", Next: []templates.Slot{
		{At: now.Add(time.Minute), Local: "Fri 2026-11-20 18:01:00"},
		{At: now.Add(48 * time.Hour), Local: "Sun 2026-11-22 18:00:00", Note: "moved: 02:30 does not exist on this day"},
	}}}}
}

func wrongJobForm() templates.DefinitionForm {
	return templates.DefinitionForm{
		Kind: templates.KindJob, Page: page("Edit tides", templates.SectionJobs), Name: "tides", Revision: 7, Definition: "</textarea>" + hostile, Message: hostile,
		Check: templates.Check{Now: now, Refused: "the name is taken", Problems: []templates.CheckProblem{
			{Problem: templates.Problem{Message: hostile, Line: 3, Column: 1}, Path: "retry.delay"},
			{Problem: templates.Problem{Message: "as a whole"}},
		}},
	}
}

func overtakenJobForm() templates.DefinitionForm {
	check := templates.Check{Now: now, Saved: true}
	return templates.DefinitionForm{
		Kind: templates.KindJob, Page: page("Edit tides", templates.SectionJobs), Name: "tides", Revision: 7, Definition: "kind: Job\n", Check: check,
		Conflict: &templates.Conflict{By: hostile, At: now, Message: hostile, Revision: 8, Changes: templates.Changes{
			{Kind: templates.LineBoth, Text: "kind: Job"}, {Kind: templates.LineRemoved, Text: hostile}, {Kind: templates.LineAdded, Text: "every: 5m"},
			{Kind: templates.LineGap}, {Kind: templates.LineBoth, Text: "tier: light"},
		}},
	}
}
