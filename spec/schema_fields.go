package spec

import "github.com/invopop/jsonschema"

// schemaField is what the schema says about a key besides its type.
type schemaField struct {
	text     string
	standard any // the default
	examples []any
	bound    func(*jsonschema.Schema)
}

func examples(values ...any) []any { return values }

// schemaFields describes every key, by its path; a test holds it complete.
var schemaFields = map[string]schemaField{
	"kind":        {text: "Always Job.", bound: constant(KindJob)},
	"name":        {text: "Identifies the job in its namespace: letters, digits, '-' and '_', at most 128.", examples: examples("nightly-report"), bound: pattern(namePattern)},
	"description": {text: "What the job is for, in words.", bound: longest(maxDescription)},
	"binary": {
		text:     "The uploaded program: name (its latest version), name@version, name@alias, or sha256: and 64 hex digits.",
		examples: examples("report", "report@3", "report@stable"), bound: pattern(binaryPattern()),
	},
	"interpreter": {
		text:     "The command that runs a program which is neither ELF, nor a script that begins with #!, nor a JAR, or one that begins with #! instead of what stands there. One word, no arguments.",
		examples: examples("python3"), bound: pattern(`^\S+$`),
	},
	"args": {
		text:     "Arguments of the program. A number or a boolean is passed as it is written.",
		examples: examples([]string{"--day", "${TIDEWHEEL_SLOT}"}),
		bound: func(s *jsonschema.Schema) {
			s.Items = scalars()
			s.MaxItems = number(maxArguments)
		},
	},
	"env": {
		text:     "Environment variables. A number or a boolean is passed as it is written. Names that start with TIDEWHEEL_ are reserved.",
		examples: examples(map[string]string{"LEVEL": "info"}), bound: variables(scalars()),
	},
	"secrets": {
		text:     "Environment variables that take their value from the secret of this name, which `tidewheel secret set` stores.",
		examples: examples(map[string]string{"DB_PASSWORD": "reporting-db"}),
		bound: func(s *jsonschema.Schema) {
			variables(&jsonschema.Schema{Type: "string", Pattern: namePattern})(s)
			s.MaxProperties = number(MaxSecrets)
		},
	},
	"payload": {text: "Any JSON value of up to 1 MiB; the program reads it on standard input.", examples: examples(map[string]any{"shops": []int{1, 2}})},

	"schedule": {
		text: "One cron expression or a list of them: 5 fields, 6 with seconds first, 7 with the year; @daily and the like; @every 90s; L, W, # and H. " +
			"At most one of schedule, every, after and at is set; with none the job runs manually only.",
		examples: examples("0 3 * * *", "@every 90s", []string{"0 9 * * MON-FRI", "0 12 * * SAT"}),
	},
	"every":        {text: "The time from one slot to the next, at least 1s.", examples: examples("90s")},
	"after":        {text: "The time from the end of a run to the next slot, at least 10ms.", examples: examples("10m")},
	"at":           {text: "The one slot of a job that runs once.", examples: examples("2026-12-31T23:59:59Z")},
	"timezone":     {text: "The IANA name of the zone in which cron expressions are read.", standard: DefaultTimezone, examples: examples("Asia/Dhaka"), bound: pattern(`^\S+$`)},
	"active":       {text: "The span of time in which there are slots; an end that is not given is open."},
	"active.from":  {text: "The first instant of the span.", examples: examples("2026-12-01T00:00:00Z")},
	"active.until": {text: "The first instant after the span.", examples: examples("2027-12-01T00:00:00Z")},

	"tier":  {text: "The queue level, which says which executors run the job. By default it follows from timeout: light up to 10m, medium up to 1h, heavy beyond."},
	"class": {text: "Whose runs go first inside a tier.", standard: ClassStandard},
	"runs_on": {
		text:     "Labels that an executor must have, with these values, to run the job. Every executor has os, arch and host; others are given to it by --label.",
		examples: examples(map[string]string{"gpu": "true"}),
		bound: func(s *jsonschema.Schema) {
			s.PropertyNames = &jsonschema.Schema{Pattern: labelKeyPattern}
			s.AdditionalProperties = scalars()
			s.AdditionalProperties.Pattern = runsOnPattern
			s.MaxProperties = number(maxRunsOn)
		},
	},
	"timeout": {text: "How long an attempt may run.", standard: DefaultTimeout, examples: examples("10m")},
	"grace":   {text: "The time between SIGTERM and SIGKILL when an attempt is ended; at most 1h.", standard: DefaultGrace},

	"retry": {text: "How often and how soon a failed attempt is tried again. The wait is random, between zero and a delay that doubles with each try. With one attempt the other keys are refused."},
	"retry.max_attempts": {
		text: "The number of attempts, the first one included.", standard: DefaultMaxAttempts,
		examples: examples(3), bound: between(1, maxAttempts),
	},
	"retry.delay":     {text: "The longest wait before the second attempt, at least 1ms.", standard: DefaultRetryDelay},
	"retry.max_delay": {text: "The longest wait before any attempt; at least delay, which is the default if it is more than 5m.", standard: DefaultRetryMaxDelay},
	"retry.on":        {text: "Exit codes that are retried, besides those that always are.", examples: examples([]int{75}), bound: exitCodeList},
	"retry.not_on":    {text: "Exit codes that are not retried, besides those that never are.", examples: examples([]int{2}), bound: exitCodeList},

	"overlap":         {text: "What becomes of a slot while an earlier run is not over: it is skipped, queued, started beside it, or replaces it.", standard: OverlapSkip},
	"catch_up":        {text: "Which slots missed in an outage or a pause run late."},
	"catch_up.policy": {text: "None of them, the last one, or all (at most 1,000).", standard: CatchUpLast},
	"catch_up.window": {text: "Only slots younger than this run late; refused with policy none.", standard: DefaultCatchUpWindow, examples: examples("24h")},
	"delivery":        {text: "Whether an attempt is tried again when its executor is lost: at_least_once does, at_most_once does not.", standard: DeliveryAtLeastOnce},

	"stderr": {text: "merged keeps standard output and error in the order of their writing; marked shows which line is which, and keeps their order only where they are written milliseconds apart (on Linux).", standard: StderrMerged},

	"limits":            {text: "What one attempt may use; what is not given is not limited, output excepted."},
	"limits.memory":     {text: "Memory, at least 1MiB.", examples: examples("256MiB")},
	"limits.cpu":        {text: "Cores: 0.5 is half of one.", examples: examples(0.5), bound: between(minCPU, maxCPU)},
	"limits.output":     {text: "How much of standard output and error is kept.", standard: DefaultOutput, examples: examples("64MiB")},
	"limits.open_files": {text: "Open files.", examples: examples(256), bound: between(minOpenFiles, maxOpenFiles)},

	"exclude": {
		text:     "Slots that do not fire: those that a cron expression names, or those in a span of time.",
		examples: examples([]any{"0 3 25 12 *", map[string]string{"from": "2026-12-24T00:00:00Z", "to": "2026-12-27T00:00:00Z"}}),
		bound:    func(s *jsonschema.Schema) { s.MaxItems = number(maxExclusions) },
	},
	"triggers": {
		text:     "Which events start it, besides its schedule. Each event starts it once.",
		examples: examples(map[string]any{"webhook": map[string]string{"secret": "hook-key"}, "after_success": []string{"etl"}}),
	},
	"triggers.webhook": {
		text:     "A signed request to /api/v1/hooks/NAMESPACE/NAME starts it; the body is its payload.",
		examples: examples(map[string]string{"secret": "hook-key"}),
		bound:    func(s *jsonschema.Schema) { s.Required = []string{"secret"} },
	},
	"triggers.webhook.secret": {
		text:     "The name of the secret of the namespace that requests are signed with (HMAC with SHA-256).",
		examples: examples("hook-key"), bound: pattern(namePattern),
	},
	"triggers.after_success": {
		text:     "Jobs and DAGs whose success starts it, of another namespace as namespace/name, at most 20.",
		examples: examples([]string{"etl", "sales/orders"}),
		bound: func(s *jsonschema.Schema) {
			s.Items = &jsonschema.Schema{Type: "string", Pattern: upstreamPattern}
			s.MaxItems = number(MaxUpstreams)
			distinct(s)
		},
	},
	"triggers.message": {
		text:     "A message to the subject triggers.NAMESPACE.SUBJECT of the installation's NATS starts it; its data is its payload.",
		examples: examples(map[string]string{"subject": "orders.paid"}),
		bound:    func(s *jsonschema.Schema) { s.Required = []string{"subject"} },
	},
	"triggers.message.subject": {
		text:     "The subject after triggers.NAMESPACE; * stands for one token, > at the end for the rest.",
		examples: examples("orders.paid", "orders.*", "orders.>"), bound: pattern(subjectPattern),
	},
	"triggers.objects": {
		text:     "Each object that appears in a bucket of the installation's S3 starts it; its payload says which.",
		examples: examples(map[string]string{"bucket": "incoming", "prefix": "orders/"}),
		bound:    func(s *jsonschema.Schema) { s.Required = []string{"bucket"} },
	},
	"triggers.objects.bucket": {
		text:     "A bucket that the server opens to the namespace by --trigger-bucket.",
		examples: examples("incoming"), bound: pattern(bucketPattern),
	},
	"triggers.objects.prefix": {
		text:     "How the keys of the objects begin; at most 10,000 objects may be there at a time.",
		examples: examples("orders/"), bound: func(s *jsonschema.Schema) { s.MaxLength = number(MaxObjectPrefix) },
	},
	"triggers.allow_after": {
		text:     "Other namespaces whose jobs and DAGs may name this one in after_success, at most 20.",
		examples: examples([]string{"reporting"}),
		bound: func(s *jsonschema.Schema) {
			s.Items = &jsonschema.Schema{Type: "string", Pattern: namePattern}
			s.MaxItems = number(MaxUpstreams)
			distinct(s)
		},
	},
	"alerts": {
		text:     "What users are notified of, and where. What is left out comes from the rules of the namespace, silent_for excepted.",
		examples: examples(map[string]any{"on": []string{"failed", "missed", "recovered"}, "lag": "30s", "duration": "5m", "silent_for": "26h", "to": []string{"ops"}}),
	},
	"alerts.on": {
		text: "failed: a run, of a DAG a wave, ended without success. dead: a run left a dead letter. missed and skipped: a slot did not fire. " +
			"recovered: each is over again. none, alone: nothing, whatever the namespace asks for.",
		examples: examples([]string{"failed", "missed", "dead", "recovered"}), bound: distinct,
	},
	"alerts.lag":        {text: "Notify of a run that has not started this long after its slot. It also says when a run counts as late, by default 30s.", examples: examples("30s")},
	"alerts.duration":   {text: "Notify of a run, or a wave of a DAG, that takes longer than this.", examples: examples("5m")},
	"alerts.silent_for": {text: "Notify when nothing has succeeded for this long, from 1m to 9600h.", examples: examples("26h")},
	"alerts.to": {
		text:     "The names of the notification targets of the namespace, at most 10.",
		examples: examples([]string{"ops"}),
		bound: func(s *jsonschema.Schema) {
			s.Items = &jsonschema.Schema{Type: "string", Pattern: namePattern}
			s.MaxItems = number(MaxTargets)
			distinct(s)
		},
	},
	"retention": {
		text:     "How long runs that have ended are kept, with their output and artifacts. What is left out comes from the namespace, and then from the server.",
		examples: examples(map[string]any{"age": "2160h", "runs": 1000, "output": "336h"}),
	},
	"retention.age": {
		text:     "How long a run is kept after its end, of a DAG a wave with its runs; from 1h to 87600h. It may be longer than --retention.",
		examples: examples("2160h"),
	},
	"retention.runs": {
		text:     "How many runs that have ended are kept, the newest, if they are not older than age; of a DAG how many waves.",
		examples: examples(1000), bound: between(1, MaxKeptRuns),
	},
	"retention.output": {
		text: "How long the output and artifacts of a run are kept in S3 after its end, from 1h to age; as long as the run if nothing says otherwise. " +
			"The last 4 KiB of the output, and small output whole, are part of the run.",
		examples: examples("336h"),
	},
	"labels": {
		text:     "Names and values for finding and grouping.",
		examples: examples(map[string]string{"team": "finance"}),
		bound: func(s *jsonschema.Schema) {
			s.PropertyNames = &jsonschema.Schema{Pattern: labelKeyPattern}
			s.AdditionalProperties = scalars()
			s.AdditionalProperties.MaxLength = number(maxLabelValue)
			s.MaxProperties = number(maxLabels)
		},
	},
}
