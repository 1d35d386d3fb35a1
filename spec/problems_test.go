package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/spec"
)

// head is the beginning of a sound job; what a case adds begins on line 4.
const head = "kind: Job\nname: a\nbinary: b\n"

// badInput is refused. beyondSchema marks what the schema cannot say.
type badInput struct {
	name         string
	text         string // after head
	whole        string // instead of head and text
	want         []string
	beyondSchema bool
}

func (b badInput) input() string {
	if b.whole != "" {
		return b.whole
	}
	return head + b.text
}

var badInputs = []badInput{
	{name: "unknown key", text: "timout: 5m\n", want: []string{`4:1: unknown key "timout": did you mean timeout?`}},
	{name: "key in camel case", text: "catchUp: {policy: last}\n", want: []string{`4:1: unknown key "catchUp": did you mean catch_up?`}},
	{name: "key of another scheduler", text: "cron: '* * * * *'\n", want: []string{`4:1: unknown key "cron": did you mean schedule?`}},
	{name: "key on the wrong level", text: "max_attempts: 3\n", want: []string{`4:1: unknown key "max_attempts": did you mean retry.max_attempts?`}},
	{name: "key one level too deep", text: "retry: {timeout: 5m}\n", want: []string{`4:9: unknown key "timeout" in retry: did you mean timeout?`}},
	{name: "key like no other", text: "retry: {xyzzy: 1}\n", want: []string{`4:9: unknown key "xyzzy" in retry: it has max_attempts, delay, max_delay, on, not_on`}},
	{name: "keys of a DAG", text: "tasks: {}\n", want: []string{`4:1: unknown key "tasks": it belongs to kind: DAG`}},
	{name: "repeated key", text: "timeout: 5m\ntimeout: 6m\n", want: []string{`5:1: key "timeout" is given twice: the first is on line 4`}, beyondSchema: true},
	{name: "repeated key in env", text: "env:\n  A: 1\n  A: 2\n", want: []string{`6:3: key "A" is given twice: the first is on line 5`}, beyondSchema: true},
	{name: "repeated key in payload", text: "payload: {a: 1, b: {c: 1, c: 2}}\n", want: []string{`4:27: key "c" is given twice: the first is on line 4`}, beyondSchema: true},
	{name: "merge key", text: "payload: {<<: {a: 1}}\n", want: []string{"4:11: merge keys (<<) are not supported: write the keys out"}, beyondSchema: true},
	{name: "key that is no text", text: "payload: {[a]: 1}\n", want: []string{"4:11: a key must be text, not a list"}, beyondSchema: true},

	{name: "kind missing", whole: "name: a\nbinary: b\n", want: []string{"1:1: kind is missing: write kind: Job"}},
	{name: "kind misspelt", whole: "kind: job\nname: a\n", want: []string{
		"1:1: binary is missing: name an uploaded program, such as report or report@stable",
		`1:7: kind must be Job, not "job": did you mean Job?`,
	}},
	{name: "kind of another world", whole: "kind: Deployment\nmetadata: {}\n", want: []string{`1:7: kind must be Job or DAG, not "Deployment"`}},
	{name: "kind without value", whole: "kind:\nname: a\nbinary: b\n", want: []string{"1:6: kind has no value: give it one, or remove the key"}},
	{name: "document is a list", whole: "- kind: Job\n", want: []string{"1:1: a document must be a mapping that begins with kind: Job or kind: DAG, not a list"}},
	{name: "document is text", whole: "hello\n", want: []string{`1:1: a document must be a mapping that begins with kind: Job or kind: DAG, not the text "hello"`}},

	{name: "name missing", whole: "kind: Job\nbinary: b\n", want: []string{"1:1: name is missing: every job needs one"}},
	{name: "name with slash", whole: "kind: Job\nname: team/a\nbinary: b\n", want: []string{`2:7: name has a '/': use letters, digits, '-' and '_'`}},
	{name: "name too long", whole: "kind: Job\nname: " + strings.Repeat("x", 300) + "\nbinary: b\n", want: []string{"2:7: name is 300 characters long: use at most 128"}},
	{name: "name begins with dash", whole: "kind: Job\nname: -a\nbinary: b\n", want: []string{"2:7: name starts with '-': start with a letter or a digit"}},
	{name: "name is a number", whole: "kind: Job\nname: 5\nbinary: b\n", want: []string{"2:7: name must be text, not the number 5: put it in quotes"}},
	{name: "name is empty", whole: "kind: Job\nname: ''\nbinary: b\n", want: []string{"2:7: name is empty: give it a value, or remove the key"}},
	{name: "name without value", whole: "kind: Job\nname:\nbinary: b\n", want: []string{"2:6: name has no value: give it one, or remove the key"}},
	{name: "name taken", whole: head + "---\n" + head, want: []string{`6:7: name "a" is taken by the job on line 1 of this file: names are unique`}, beyondSchema: true},

	{name: "digest", whole: "kind: Job\nname: a\nbinary: sha256:ABC\n", want: []string{"3:9: binary has a faulty digest: write sha256: and 64 hex digits in lower case"}},
	{name: "version 0", whole: "kind: Job\nname: a\nbinary: b@0\n", want: []string{`3:9: binary has a faulty version "0": versions count 1, 2, 3…`}, beyondSchema: true},
	{name: "alias", whole: "kind: Job\nname: a\nbinary: b@ü\n", want: []string{"3:9: binary has a faulty alias after the '@': it has a 'ü': use letters, digits, '-' and '_'"}},
	{name: "path as binary", whole: "kind: Job\nname: a\nbinary: /bin/true\n", want: []string{"3:9: binary has a '/': use letters, digits, '-' and '_'"}},
	{name: "interpreter with arguments", text: "interpreter: python3 -u\n", want: []string{`4:14: interpreter must be one command without arguments, such as python3, not "python3 -u"`}},
	{name: "args as text", text: "args: --day\n", want: []string{`4:7: args must be a list, not the text "--day": write [--day]`}},
	{name: "argument is a list", text: "args: [a, [b]]\n", want: []string{"4:11: args[1] must be text, not a list"}},
	{name: "argument with NUL", text: "args: [\"a\\0b\"]\n", want: []string{"4:8: args[0] has a NUL character, which no program can receive: remove it"}, beyondSchema: true},
	{name: "env as list", text: "env: [A=1]\n", want: []string{"4:6: env must be a mapping of names to text, not a list"}},
	{name: "env name", text: "env: {2A: x}\n", want: []string{"4:11: env.2A is not a name for an environment variable: use letters, digits and '_', and no digit first"}},
	{name: "env name reserved", text: "env: {TIDEWHEEL_JOB: x}\n", want: []string{"4:22: env.TIDEWHEEL_JOB is reserved: names that start with TIDEWHEEL_ are set by Tidewheel"}},
	{name: "env without value", text: "env: {A: }\n", want: []string{"4:10: env.A has no value: give it one, or remove the key"}},
	{name: "secret in an argument", text: "args: [-p, \"--password=${A}\"]\nsecrets: {A: x}\n", want: []string{"4:12: args[1] holds the secret ${A}, and other users of the machine can read arguments: let the program read the variable"}, beyondSchema: true},
	{name: "secret and env", text: "env: {A: x}\nsecrets: {A: x}\n", want: []string{"5:14: secrets.A is also set in env: keep one of them"}, beyondSchema: true},
	{name: "secret name", text: "secrets: {A: a b}\n", want: []string{"4:14: secrets.A must be the name of a secret; it has a space: use letters, digits, '-' and '_'"}},
	{name: "payload number", text: "payload: {a: .inf, b: 0123}\n", want: []string{
		"4:14: payload.a is .inf, which is not a number in JSON: put it in quotes, or write it out",
		"4:23: payload.b is 0123, which may be read as octal: remove the leading 0, or put text in quotes",
	}, beyondSchema: true},
	{name: "payload tags", text: "payload: [!!binary aGk=, !mine x, !!int x]\n", want: []string{
		`4:11: tag "!!binary" is not supported: remove it`,
		`4:26: tag "!mine" is not supported: remove it`,
		`4:35: tag "!!int" is not supported: remove it`,
	}, beyondSchema: true},

	{name: "bad cron in a list", text: "schedule:\n  - 0 3 * * *\n  - 99 * * * *\n", want: []string{"6:5: schedule[1]: minute 99 is outside 0-59"}, beyondSchema: true},
	{name: "never fires", text: "schedule: 0 0 30 2 *\n", want: []string{"4:11: schedule never fires: 30 February never comes"}, beyondSchema: true},
	{name: "schedule is a number", text: "schedule: 5\n", want: []string{`4:11: schedule must be an expression in quotes such as "0 3 * * *", or a list of them, not the number 5`}},
	{name: "schedule is an empty list", text: "schedule: []\n", want: []string{"4:11: schedule is an empty list: give it an expression, or remove the key"}},
	{name: "two schedules", text: "schedule: 0 3 * * *\nevery: 5s\nat: 2026-12-31T23:59:59Z\n", want: []string{
		"5:8: every cannot be given beside schedule: a job has one of schedule, every, after and at, or none",
		"6:5: at cannot be given beside schedule: a job has one of schedule, every, after and at, or none",
	}},
	{name: "every too short", text: "every: 10ms\n", want: []string{"4:8: every: 10ms is too short; the shortest interval is 1s"}, beyondSchema: true},
	{name: "@every too short", text: "schedule: '@every 10ms'\n", want: []string{"4:11: schedule: 10ms is too short; the shortest interval is 1s"}, beyondSchema: true},
	{name: "zone", text: "timezone: Asia/Dhacka\n", want: []string{`4:11: timezone: unknown time zone "Asia/Dhacka"; did you mean Asia/Dhaka?`}, beyondSchema: true},
	{name: "time without zone", text: "at: 2026-12-31 23:59:59\n", want: []string{`4:5: at must be a time such as 2026-12-31T23:59:59Z, not "2026-12-31 23:59:59": say which zone, as in 2026-12-31T23:59:59Z or 2026-12-31T23:59:59+06:00`}},
	{name: "no time", text: "active: {from: soon}\n", want: []string{`4:16: active.from must be a time such as 2026-12-31T23:59:59Z, not "soon"`}},
	{name: "window upside down", text: "active: {from: 2027-01-01T00:00:00Z, until: 2026-01-01T00:00:00Z}\n", want: []string{"4:45: active.until: 2026-01-01T00:00:00Z is not after active.from (2027-01-01T00:00:00Z), so nothing can fire; swap them, or leave one open"}, beyondSchema: true},
	{name: "exclusion without end", text: "exclude: [{from: 2027-01-01T00:00:00Z}]\n", want: []string{"4:11: exclude[0].to is missing; give the instant at which the exclusion ends, or use active.until for no end"}},
	{name: "exclusion of another type", text: "exclude: [5]\n", want: []string{`4:11: exclude[0] must be an expression in quotes such as "0 3 25 12 *", or {from, to}, not the number 5`}},

	{name: "tier", text: "tier: havy\n", want: []string{`4:7: tier must be light, medium or heavy, not "havy": did you mean heavy?`}},
	{name: "tier is a number", text: "tier: 1\n", want: []string{"4:7: tier must be light, medium or heavy, not the number 1"}},
	{name: "overlap", text: "overlap: Forbid\n", want: []string{`4:10: overlap must be skip, queue, allow or replace, not "Forbid"`}},
	{name: "duration without unit", text: "timeout: 90\n", want: []string{"4:10: timeout needs a unit: write 90s, 90m or 90h"}},
	{name: "duration in days", text: "timeout: 2d\n", want: []string{`4:10: timeout must be a duration such as 90s, 10m or 1h30m, not "2d": write days in hours, 24h for one`}},
	{name: "duration is a list", text: "timeout: [1s]\n", want: []string{"4:10: timeout must be a duration such as 90s or 1h30m, not a list"}},
	{name: "duration of zero", text: "timeout: 0s\n", want: []string{"4:10: timeout must be more than 0s: remove the key for the default"}, beyondSchema: true},
	{name: "duration is negative", text: "timeout: -5s\n", want: []string{"4:10: timeout must not be negative"}},
	{name: "duration is too long", text: "timeout: 9000000h\n", want: []string{`4:10: timeout is too long: "9000000h" is more than 290 years`}, beyondSchema: true},
	{name: "grace is too long", text: "grace: 2h\n", want: []string{"4:8: grace must be at most 1h, not 2h"}, beyondSchema: true},
	{name: "attempts", text: "retry: {max_attempts: 101}\n", want: []string{"4:23: retry.max_attempts must be from 1 to 100, not 101"}},
	{name: "no attempts", text: "retry: {max_attempts: 0}\n", want: []string{"4:23: retry.max_attempts must be more than 0"}},
	{name: "attempts as text", text: "retry: {max_attempts: many}\n", want: []string{`4:23: retry.max_attempts must be a whole number, not the text "many"`}},
	{name: "attempts as fraction", text: "retry: {max_attempts: 1.5}\n", want: []string{"4:23: retry.max_attempts must be a whole number, not 1.5"}},
	{name: "retry as number", text: "retry: 3\n", want: []string{"4:8: retry must be a mapping of max_attempts, delay, max_delay, on or not_on, not the number 3"}},
	{name: "delays crossed", text: "retry: {delay: 10m, max_delay: 5m}\n", want: []string{"4:32: retry.max_delay must not be less than retry.delay (10m)"}, beyondSchema: true},
	{name: "exit codes", text: "retry: {on: [0, 256, 7, 7], not_on: [7]}\n", want: []string{
		"4:14: retry.on[0] is 0, which is success: list exit codes from 1 to 255",
		"4:17: retry.on[1] must be an exit code from 1 to 255, not 256",
		"4:25: retry.on[3] repeats 7: list each exit code once",
		"4:38: retry.not_on[0] is 7, which is in retry.on too: keep it in one of them",
	}},
	{name: "size as Kubernetes writes it", text: "limits: {memory: 256Mi}\n", want: []string{`4:18: limits.memory must be a size such as 256MiB, not "256Mi": did you mean 256MiB?`}},
	{name: "size without unit", text: "limits: {memory: 256}\n", want: []string{"4:18: limits.memory needs a unit: write 256MiB, or 256B for bytes"}},
	{name: "size too small", text: "limits: {memory: 5B, output: 1B}\n", want: []string{
		"4:18: limits.memory must be at least 1MiB, not 5B",
		"4:30: limits.output must be at least 1KiB, not 1B",
	}, beyondSchema: true},
	{name: "cpu", text: "limits: {cpu: .nan, open_files: 3}\n", want: []string{
		"4:15: limits.cpu must be a plain number such as 0.5, not .nan",
		"4:33: limits.open_files must be from 16 to 1048576, not 3",
	}},
	{name: "cpu beyond any machine", text: "limits: {cpu: 5000}\n", want: []string{"4:15: limits.cpu must be from 0.01 to 1024 cores, not 5000"}},
	{name: "alert misspelt", text: "alerts: {on: [fialed, late, failed, failed]}\n", want: []string{
		`4:15: alerts.on[0] must be failed, dead, missed, skipped, recovered or none, not "fialed": did you mean failed?`,
		"4:23: alerts.on[1] is late, which is asked for by its time: set alerts.lag instead",
		`4:37: alerts.on[3] repeats "failed": list each alert once`,
	}},
	{name: "alerts as one word", text: "alerts: {on: failed}\n", want: []string{"4:14: alerts.on must be a list, not the text \"failed\": write [failed]"}},
	{name: "none beside others", text: "alerts: {on: [none, failed], duration: 5m, silent_for: 1h, to: [ops]}\n", want: []string{
		"4:14: alerts.on has none beside others: none stands alone",
		"4:40: alerts.duration does nothing beside on: [none]: remove one of them",
		"4:56: alerts.silent_for does nothing beside on: [none]: remove one of them",
		"4:64: alerts.to does nothing beside on: [none]: remove one of them",
	}, beyondSchema: true},
	{name: "recovered from nothing", text: "alerts: {on: [recovered], to: [ops]}\n", want: []string{
		"4:14: alerts.on asks for recovered alone: name the alerts to recover from, such as [failed, recovered]",
	}, beyondSchema: true},
	{name: "retention out of bounds", text: "retention: {age: 59m, runs: -1}\n", want: []string{
		"4:18: retention.age must be at least 1h, not 59m", "4:29: retention.runs must be from 1 to 100000, not -1",
	}},
	{name: "retention too long", text: "retention: {age: 87601h, runs: 100001}\n", want: []string{
		"4:18: retention.age must be at most 87600h, not 87601h", "4:32: retention.runs must be from 1 to 100000, not 100001",
	}},
	{name: "output kept for too short", text: "retention: {output: 59m}\n", want: []string{"4:21: retention.output must be at least 1h, not 59m"}, beyondSchema: true},
	{name: "output kept for longer than its run", text: "retention: {age: 24h, output: 25h}\n", want: []string{
		"4:31: retention.output 25h is longer than age, 24h: output goes with its run; keep it for less, or the runs for longer",
	}, beyondSchema: true},
	{name: "retention by another name", text: "retention: {days: 30}\n", want: []string{`4:13: unknown key "days" in retention: did you mean age?`}},
	{name: "retention of Kubernetes", text: "successfulJobsHistoryLimit: 3\n", want: []string{`4:1: unknown key "successfulJobsHistoryLimit": did you mean retention?`}},
	{name: "silence too short", text: "alerts: {silent_for: 59s, duration: 1us}\n", want: []string{
		"4:22: alerts.silent_for must be at least 1m, not 59s", "4:37: alerts.duration must be at least 1ms, not 1µs",
	}, beyondSchema: true},
	{name: "silence too long", text: "alerts: {silent_for: 9601h}\n", want: []string{"4:22: alerts.silent_for must be at most 9600h, not 9601h"}, beyondSchema: true},
	{name: "targets", text: "alerts: {on: [failed], to: [a b, ops, ops]}\n", want: []string{
		"4:29: alerts.to[0] must be the name of a notification target; it has a space: use letters, digits, '-' and '_'",
		`4:39: alerts.to[2] repeats "ops": list each target once`,
	}},
	{name: "targets by the dozen", text: "alerts: {on: [failed], to: [" + numbered(11, "t%d, ") + "]}\n", want: []string{"4:28: alerts.to has 11 targets: use at most 10"}},
	{name: "webhook without a secret", text: "triggers: {webhook: {}}\n", want: []string{
		"4:21: triggers.webhook.secret is missing: name the secret that requests are signed with, which `tidewheel secret set` stores",
	}},
	{name: "webhook with a secret's value", text: "triggers: {webhook: {secret: whsec_a+b}}\n", want: []string{
		"4:30: triggers.webhook.secret must be the name of a secret; it has a '+': use letters, digits, '-' and '_'",
	}},
	{name: "upstreams", text: "triggers: {after_success: [etl, a b, etl, x/y/z], allow_after: [a/b, c, c]}\n", want: []string{
		"4:33: triggers.after_success[1] must name a job or DAG, as etl, or as sales/etl in another namespace; it has a space: use letters, digits, '-' and '_'",
		"4:38: triggers.after_success[2] repeats \"etl\": list each job or DAG once",
		"4:43: triggers.after_success[3] must name a job or DAG, as etl, or as sales/etl in another namespace; it has a '/': use letters, digits, '-' and '_'",
		"4:65: triggers.allow_after[0] must be the name of a namespace; it has a '/': use letters, digits, '-' and '_'",
		"4:73: triggers.allow_after[2] repeats \"c\": list each namespace once",
	}},
	{name: "after itself", text: "triggers: {after_success: [a]}\n", want: []string{
		"4:28: triggers.after_success[0] is \"a\" itself, which would start again after each success: use a schedule, such as after: 1m",
	}, beyondSchema: true},
	{name: "after_success on the wrong level", text: "after_success: [etl]\n", want: []string{
		"4:1: unknown key \"after_success\": did you mean triggers.after_success?",
	}},
	{name: "message without a subject", text: "triggers: {message: {subject: orders..paid}}\n", want: []string{
		"4:31: triggers.message.subject must be a subject of NATS such as orders.paid, orders.* or orders.>: letters, digits, - and _ between dots",
	}},
	{name: "objects of no bucket", text: "triggers: {objects: {bucket: A, prefix: /x}}\n", want: []string{
		"4:30: triggers.objects.bucket must be the name of a bucket of S3, such as incoming",
		"4:41: triggers.objects.prefix must be how keys begin, such as orders/, without / before it, and of at most 512 bytes",
	}},
	{name: "trigger unknown", text: "triggers: {kafka: x}\n", want: []string{
		"4:12: unknown key \"kafka\" in triggers: it has webhook, after_success, message, objects, allow_after",
	}},
	{name: "label name", text: "labels: {'a b': c}\n", want: []string{"4:17: labels.a b is not a name for a label: use at most 63 letters, digits, '.', '_', '/' and '-', a letter or digit first"}},
	{name: "control character", text: "description: \"a\\eb\"\n", want: []string{`4:14: description has a control character ('\x1b'): remove it`}, beyondSchema: true},
	{name: "label with a line break", text: "labels: {a: \"b\\nc\"}\n", want: []string{"4:13: labels.a has a control character (line break): remove it"}, beyondSchema: true},
	{name: "label too long", text: "labels: {a: " + strings.Repeat("é", 256) + "}\n", want: []string{"4:13: labels.a is 256 characters long: use at most 255"}},
	{name: "label of no executor", text: "runs_on: {'a b': c, gpu: \"\", zone: 'a,b'}\n", want: []string{
		"4:18: runs_on.a b is not a name for a label: use at most 63 letters, digits, '.', '_', '/' and '-', a letter or digit first",
		"4:26: runs_on.gpu has no value: executors have labels with values, such as gpu: \"true\"",
		"4:36: runs_on.zone has the value \"a,b\", which no executor can have: use at most 63 letters, digits, '.', '_', ':', '/', '@', '+' and '-', a letter or digit first",
	}},
	{name: "many demands", text: "runs_on: {" + numbered(9, "l%d: x, ") + "}\n", want: []string{"4:10: runs_on has 9 labels: use at most 8"}},
	{name: "executors as GitHub names them", text: "runs-on: {gpu: true}\n", want: []string{"4:1: unknown key \"runs-on\": did you mean runs_on?"}},
	{name: "executors as Kubernetes names them", text: "nodeSelector: {gpu: true}\n", want: []string{"4:1: unknown key \"nodeSelector\": did you mean runs_on?"}},
	{name: "labels by the dozen", text: "labels: {" + numbered(65, "l%d: x, ") + "}\n", want: []string{"4:9: labels has 65 labels: use at most 64"}},
	{name: "description too long", text: "description: " + strings.Repeat("é", 4097) + "\n", want: []string{"4:14: description is 4097 characters long: use at most 4096"}},
	{name: "alert too soon", text: "alerts: {lag: 1us}\n", want: []string{"4:15: alerts.lag must be at least 1ms, not 1µs"}, beyondSchema: true},
	{name: "variables by the thousand", text: "env: {" + numbered(1001, "A%d: x, ") + "}\nsecrets: {" + numbered(1001, "S%d: x, ") + "}\n", want: []string{
		"4:6: env has 1001 variables: use at most 1000",
		"5:10: secrets has 1001 variables: use at most 20",
	}},
	{name: "trace variable", text: "env: {TRACEPARENT: x}\n", want: []string{"4:20: env.TRACEPARENT is reserved: it is set by Tidewheel"}},
	{name: "time before all computers", text: "at: 1969-12-31T00:00:00Z\n", want: []string{`4:5: at must be a time since 1970, not "1969-12-31T00:00:00Z"`}, beyondSchema: true},
	{name: "timeout beyond a life", text: "timeout: 100000h\n", want: []string{"4:10: timeout must be at most 87600h, not 100000h"}, beyondSchema: true},
	{name: "size beyond any disk", text: "limits: {memory: 2000TiB, cpu: 07}\n", want: []string{
		"4:18: limits.memory must be at most 1024TiB, not 2000TiB",
		"4:32: limits.cpu is 07, which may be read as octal: remove the leading 0, or put text in quotes",
	}, beyondSchema: true},
	{name: "anchor in itself", text: "payload: &a [*a]\n", want: []string{`4:14: anchor "a" contains itself`}, beyondSchema: true},

	{name: "all at once", text: "timout: 1s\nretry: {delay: 5}\ntier: big\nschedule: 61 * * * *\n", want: []string{
		`4:1: unknown key "timout": did you mean timeout?`,
		"5:16: retry.delay needs a unit: write 5s, 5m or 5h",
		`6:7: tier must be light, medium or heavy, not "big"`,
		"7:11: schedule: minute 61 is outside 0-59",
	}},
}

func numbered(count int, format string) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

func TestBadInputsAreRefusedWithTheirPlace(t *testing.T) {
	for _, bad := range badInputs {
		t.Run(bad.name, func(t *testing.T) {
			_, problems := spec.Decode("job.yaml", []byte(bad.input()))
			checkProblems(t, problems, bad.want)
		})
	}
}

func checkProblems(t *testing.T, problems spec.Problems, want []string) {
	t.Helper()
	got := make([]string, len(problems))
	for i, problem := range problems {
		got[i] = problem.Error()
	}
	full := make([]string, len(want))
	for i, line := range want {
		full[i] = "job.yaml:" + line
	}
	if diff := cmp.Diff(full, got); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestProblemsOfEveryDocumentAreReported(t *testing.T) {
	const text = "kind: Job\nname: a\nbinary: b\ntier: big\n---\nkind: DAG\n---\nkind: Job\nname: [\n---\nkind: Job\nname: b\n"
	_, problems := spec.Decode("job.yaml", []byte(text))
	checkProblems(t, problems, []string{
		`4:7: tier must be light, medium or heavy, not "big"`,
		"6:1: name is missing: every DAG needs one",
		"6:1: tasks is empty: a DAG has at least one task",
		"9:1: the document is not YAML: the document ends inside '[' or '{': close it",
		"11:1: binary is missing: name an uploaded program, such as report or report@stable",
	})
}

func TestProblemsAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString(head)
	for range 5000 {
		text.WriteString("---\nkind: Dog\n")
	}
	_, problems := spec.Decode("job.yaml", []byte(text.String()))
	if len(problems) != spec.MaxProblems+1 {
		t.Fatalf("got %d problems, want %d", len(problems), spec.MaxProblems+1)
	}
	if last := problems[spec.MaxProblems].Message; last != "there are more problems from here on: mend the ones above first" {
		t.Errorf("the last problem says %q", last)
	}
}
