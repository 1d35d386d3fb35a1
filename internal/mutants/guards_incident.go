package main

const (
	incidentEntry  = "engine/incident/entry.go"
	incidentLife   = "engine/incident/life.go"
	incidentNotify = "engine/incident/notify.go"
	incidentRuns   = "engine/incident/runs.go"
)

// incidentGuards are those of incidents, of which users are notified.
var incidentGuards = []mutant{
	{
		name: "notify-after-commit", guard: "users are notified of an incident once it is durable",
		file: incidentLife,
		old:  "	b.touch(e)\n}\n\n// end takes a good sign",
		new:  "	b.touch(e)\n	if e.due() {\n		b.outlet.Notify(e.notice())\n	}\n}\n\n// end takes a good sign",
	},
	{
		name: "notify-again", guard: "the notifier gets again what it did not take",
		file: incidentNotify,
		old:  "		b.wakeAt(e, b.now.Add(wait))\n		return\n",
		new:  "		_ = wait\n		return\n",
	},
	{
		name: "notify-after-take-over", guard: "the notifier gets after a take-over what it may not have",
		file: incidentNotify,
		old:  "		if e.due() {\n			b.outlet.Notify(e.notice())\n		}\n",
		new:  "",
	},
	{
		name: "notify-end-before-next", guard: "users are notified of the end of an incident before its place is taken",
		file: incidentLife,
		old:  "	case !e.Over.IsZero() && e.Next == nil:\n",
		new:  "	case !e.Over.IsZero() && e.Next == nil && e.Run == \"\":\n		e.Incident = successor(s, e)\n		e.Since = b.instant()\n	case !e.Over.IsZero() && e.Next == nil:\n",
		more: []edit{{
			incidentLife, "	case !e.Over.IsZero():\n		into = e.Next\n",
			"	case !e.Over.IsZero() && e.Next == nil:\n	case !e.Over.IsZero():\n		into = e.Next\n",
		}},
	},
	{
		name: "notify-fence", guard: "an answer about an earlier incident of the same kind is no answer about the present one",
		held: test{"engine/core", "^TestAnswerAboutAnEarlierIncidentChangesNothing$"},
		file: incidentNotify,
		old:  "	if !e.current || !e.Since.Equal(since) || e.notifying",
		new:  "	if !e.current || e.notifying",
	},
	{
		name: "notify-begin-first", guard: "users are notified of the beginning before the end",
		file: incidentEntry,
		old:  "	case !e.Notified:\n		e.notifying = notifyBeginning\n",
		new:  "	case !e.Notified && e.Over.IsZero():\n		e.notifying = notifyBeginning\n",
	},
	{
		name: "incident-with-failure", guard: "what failed is written with its incident",
		file: incidentRuns,
		old:  "			b.begin(own, spec.AlertFailed, signOf(r, whyFailed(r)))\n",
		new:  "",
	},
	{
		name: "incident-over", guard: "a success ends what failed",
		file: incidentRuns,
		old:  "	b.endOf(s, spec.AlertFailed, by)\n",
		new:  "",
	},
	{
		name: "incident-dropped", guard: "a definition that is gone, or asks no more, leaves no incident",
		file: incidentLife,
		old:  "		if e.current && e.Task == s.Task && !s.Alerts.Asks(e.Alert) {\n",
		new:  "		if false {\n",
	},
	{
		name: "silence-paused", guard: "what is paused does not fall silent",
		file: incidentLife,
		old:  "	case s.Paused && e.current && e.Count == 0:\n		b.drop(e)\n",
		new:  "",
	},
	{
		name: "silence-put-off", guard: "a success puts the silence off",
		file: incidentRuns,
		old:  "	b.putOff(s, b.now, by)\n",
		new:  "",
	},
	{
		name: "alert-rules-first", guard: "an owner knows what namespaces ask for before anything else",
		held: test{"engine/shard", "^TestATakeOverReadsIncidentsAndRulesBeforeAnythingElse$"},
		file: "engine/shard/machine_own.go",
		old:  "	m.step(out, now, u, in.Alerts)\n",
		new:  "",
	},
}
