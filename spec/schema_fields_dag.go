package spec

import (
	"maps"

	"github.com/invopop/jsonschema"

	"github.com/tidewheel/tidewheel/dag"
)

func init() { maps.Copy(schemaFields, dagSchemaFields) }

func needList(s *jsonschema.Schema) {
	s.Items = &jsonschema.Schema{Type: "string", Pattern: namePattern}
	s.UniqueItems = true
}

// taskAlertKeys leaves what a task may ask for.
func taskAlertKeys(s *jsonschema.Schema) {
	s.Properties.Delete("lag")
	s.Properties.Delete("silent_for")
	on, _ := s.Properties.Get("on")
	on.Items = &jsonschema.Schema{Type: "string", Enum: anySlice([]string{"failed", "dead", "recovered"})}
}

// dagSchemaFields are the keys of a DAG that a job has not, or that mean something else there.
var dagSchemaFields = map[string]schemaField{
	"DAG:.kind": {text: "Always DAG.", bound: constant(KindDAG)},
	"DAG:.name": {text: "Identifies the DAG in its namespace: letters, digits, '-' and '_', at most 128.", examples: examples("etl"), bound: pattern(namePattern)},
	"DAG:.payload": {
		text:     "Any JSON value of up to 1 MiB, for the tasks that have none; a manual wave may override it. Conditions read it as payload.",
		examples: examples(map[string]any{"region": "north"}),
	},
	"DAG:.args": {
		text:     "What conditions read as args; a manual wave may override them.",
		examples: examples(map[string]string{"day": "7"}),
		bound: func(s *jsonschema.Schema) {
			s.PropertyNames = &jsonschema.Schema{Pattern: namePattern}
			s.AdditionalProperties = scalars()
			s.MaxProperties = number(maxArguments)
		},
	},
	"DAG:.schedule": {
		text:     "The cron expression, or a list of them, of the roots that have no schedule of their own. Without any schedule, waves start manually.",
		examples: examples("0 3 * * *", "@every 90s"),
	},
	"DAG:.overlap":      {text: "What becomes of a root's slot while a wave is not over: it is skipped, or starts one wave more afterwards. Waves of a DAG never overlap.", standard: WaveSkip},
	"DAG:.catch_up":     {text: "Which slots missed in an outage or a pause start a wave late."},
	"DAG:.max_parallel": {text: "How many runs of a wave may be under way at once.", examples: examples(16), bound: between(1, maxParallel)},
	"DAG:.defaults":     {text: "What tasks leave out. env, runs_on, retry and limits are merged key by key."},
	"DAG:.tasks": {
		text:     "The tasks by name. Those without needs are the roots.",
		examples: examples(map[string]any{"fetch": map[string]any{"binary": "fetch"}, "join": map[string]any{"binary": "join", "needs": []string{"fetch"}}}),
	},
	"DAG:tasks.*.description": {text: "What the task is for, in words.", bound: longest(maxDescription)},
	"DAG:tasks.*.payload":     {text: "Any JSON value of up to 1 MiB; the program reads it on standard input. By default it is the wave's.", examples: examples(map[string]any{"shops": []int{1, 2}})},
	"DAG:tasks.*.needs":       {text: "The tasks of this DAG that come before this one.", examples: examples([]string{"fetch"}), bound: needList},
	"DAG:tasks.*.schedule":    {text: "The cron expression of a root, or a list of them.", examples: examples("0 * * * *")},
	"DAG:tasks.*.timezone":    {text: "The IANA name of the zone of the task's own schedule. By default it is the DAG's.", examples: examples("Asia/Dhaka"), bound: pattern(`^\S+$`)},
	"DAG:tasks.*.trigger": {
		text: "By what its needs came to the task starts: all_success, none_failed and all_done when all have ended, one_success and one_failed at the first; " +
			"always is all_done, and runs in a cancelled wave too.",
		standard: dag.AllSuccess,
	},
	"DAG:tasks.*.when": {
		text:     "A condition over outputs.<task>.<key>, payload, epoch, slot and args; the task is skipped where it is false.",
		examples: examples("outputs.join.rows > 0"),
	},
	"DAG:tasks.*.alerts": {
		text:     "What users are notified of about the task, besides the alerts of the DAG. It takes nothing from the DAG or the namespace.",
		examples: examples(map[string]any{"on": []string{"failed", "recovered"}, "duration": "5m", "to": []string{"ops"}}),
		bound:    taskAlertKeys,
	},
	"DAG:tasks.*.alerts.on": {
		text:     "failed: a run of the task ended without success. dead: it left a dead letter. recovered: each is over again.",
		examples: examples([]string{"failed", "recovered"}), bound: distinct,
	},
	"DAG:tasks.*.alerts.duration": {text: "Notify of a run of the task that takes longer than this.", examples: examples("5m")},
	"DAG:tasks.*.for_each":        {text: "An expression that gives a list of at most 10,000 items: the task runs once for each.", examples: examples("outputs.join.shops")},
	"DAG:tasks.*.max_parallel":    {text: "How many runs of for_each may be under way at once.", examples: examples(8), bound: between(1, maxParallel)},
}
