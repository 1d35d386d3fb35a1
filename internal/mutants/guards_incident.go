package main

const (
	coreIncident = "engine/core/incident.go"
	coreAlert    = "engine/core/alert.go"
)

// incidentGuards are those of incidents, of which users are notified.
var incidentGuards = []mutant{
	{
		name: "tell-after-commit", guard: "an incident is told once it is durable",
		file: coreIncident,
		old:  "		u := c.unwritten(i.UID)\n		u.after = append(u.after, i.notifying.effect(i))\n",
		new:  "		c.perform(i.notifying.effect(i))\n",
	},
	{
		name: "tell-again", guard: "what the notifier did not take is told again",
		file: coreIncident,
		old:  "		c.setTimer(&i.timer, c.now.Add(wait), timer{kind: timerNotify, of: i})\n		return\n",
		new:  "		_ = wait\n		return\n",
	},
	{
		name: "tell-after-take-over", guard: "what is not told is told after a take-over",
		file: coreIncident,
		old:  "		if c.toNotify(i) {\n			c.perform(i.notifying.effect(i))\n		}\n",
		new:  "",
	},
	{
		name: "tell-end-before-next", guard: "the end of an incident is told before its place is taken",
		file: coreIncident,
		old:  "	case !i.Over.IsZero() && i.Next == nil:\n",
		new:  "	case !i.Over.IsZero() && i.Next == nil && i.Run == \"\":\n		i.Incident = c.newIncident(s, i)\n		i.Since = c.instant()\n	case !i.Over.IsZero() && i.Next == nil:\n",
		more: []edit{{
			coreIncident, "	case !i.Over.IsZero():\n		into = i.Next\n",
			"	case !i.Over.IsZero() && i.Next == nil:\n	case !i.Over.IsZero():\n		into = i.Next\n",
		}},
	},
	{
		name: "tell-fence", guard: "an answer about an earlier incident of the same kind is no answer about the present one",
		held: test{"engine/core", "^TestAnswerAboutAnEarlierIncidentChangesNothing$"},
		file: coreIncident,
		old:  "	if !i.current || !i.Since.Equal(e.Since) || i.notifying",
		new:  "	if !i.current || i.notifying",
	},
	{
		name: "tell-begin-first", guard: "the beginning is told before the end",
		file: coreIncident,
		old:  "	case !i.Notified:\n		i.notifying = notifyBeginning\n",
		new:  "	case !i.Notified && i.Over.IsZero():\n		i.notifying = notifyBeginning\n",
	},
	{
		name: "incident-with-failure", guard: "what failed is written with its incident",
		file: coreAlert,
		old:  "			c.sign(s, spec.AlertFailed, signOf(&r.Run, whyFailed(&r.Run)))\n",
		new:  "",
	},
	{
		name: "incident-over", guard: "a success ends what failed",
		file: coreAlert,
		old:  "			c.over(s, spec.AlertFailed, good)\n",
		new:  "",
	},
	{
		name: "incident-dropped", guard: "a definition that is gone, or asks no more, leaves no incident",
		file: coreIncident,
		old:  "		if i.current && i.Task == s.task && !s.alerts.Asks(i.Alert) {\n",
		new:  "		if false {\n",
	},
	{
		name: "incident-dropped-untold", guard: "what was dropped before its commit is not told",
		held: test{"engine/core", "^TestWhatIsNotAskedForAnyMoreGoesSilently$"},
		file: coreIncident,
		old:  "		return is && notify.ID == i.ID\n",
		new:  "		return is && notify.ID == \"\"\n",
	},
	{
		name: "silence-paused", guard: "what is paused does not fall silent",
		file: coreIncident,
		old:  "	case s.paused && i.current && i.Count == 0:\n		c.dropIncident(i)\n",
		new:  "",
	},
	{
		name: "silence-put-off", guard: "a success puts the silence off",
		file: coreAlert,
		old:  "			c.putOff(s, c.now, good)\n",
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
