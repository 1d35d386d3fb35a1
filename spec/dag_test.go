package spec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/spec"
)

// exampleDAG is the manual's, with every key given somewhere.
const exampleDAG = `kind: DAG
name: etl
description: Shops by the hour
payload: {region: north}
args: {day: "7"}
schedule: "0 * * * *"
timezone: Asia/Dhaka
active: {from: "2026-12-01T00:00:00Z"}
overlap: queue
catch_up: {policy: none}
exclude: ["0 3 25 12 *"]
max_parallel: 16
triggers: {webhook: {secret: hook-key}, after_success: [orders]}
alerts: {on: [failed], lag: 1m, to: [ops]}
labels: {team: finance}
defaults:
  interpreter: python3
  env: {LEVEL: info}
  runs_on: {arch: arm64, zone: a}
  class: premium
  timeout: 5m
  grace: 3s
  retry: {max_attempts: 2, on: [75]}
  delivery: at_most_once
  limits: {memory: 256MiB}
tasks:
  orders: {binary: fetch, args: [orders], labels: {source: shop}}
  rates:
    binary: fetch
    args: [rates]
    schedule: "*/30 * * * *"
    timezone: UTC
  join:
    description: Rates onto orders
    binary: join@stable
    interpreter: perl
    env: {LEVEL: debug}
    payload: [1, 2]
    needs: [orders, rates]
    tier: heavy
    runs_on: {gpu: "true", zone: b}
    class: standard
    timeout: 2h
    grace: 5s
    retry: {max_attempts: 4}
    delivery: at_least_once
    limits: {cpu: 2}
    alerts: {on: [dead, recovered], duration: 1h, to: [ops]}
  shops:
    binary: shop-total
    secrets: {TOKEN: shop-token}
    needs: [join]
    for_each: outputs.join.shops
    max_parallel: 8
  report:
    binary: report
    needs: [shops]
    trigger: none_failed
    when: "outputs.join.rows > 0"
  tell: {binary: notify, needs: [report], trigger: all_done, tier: light}
`

func decodeDAG(t testing.TB, text string) *spec.DAG {
	t.Helper()
	documents, problems := spec.Decode("dag.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatalf("unexpected problems:\n%v\nin:\n%s", err, text)
	}
	if len(documents) != 1 || documents[0].DAG == nil || documents[0].Job != nil {
		t.Fatalf("got %+v, want one DAG", documents)
	}
	return documents[0].DAG
}

func TestDAGIsWrittenAsAPersonWouldWriteIt(t *testing.T) {
	written, err := spec.EncodeDAG(decodeDAG(t, exampleDAG))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(exampleDAG, string(written)); diff != "" {
		t.Errorf("YAML differs (-want +got):\n%s", diff)
	}
}

func TestStoredDAGReadsBack(t *testing.T) {
	d := decodeDAG(t, exampleDAG)
	stored, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var got spec.DAG
	if err := json.Unmarshal(stored, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, &got); diff != "" {
		t.Errorf("the stored DAG differs (-want +got):\n%s", diff)
	}
	again, problems := spec.DecodeDAG("etl", stored)
	if len(problems) > 0 || !again.Equal(d) {
		t.Errorf("the stored form is no body: %v", problems)
	}
}

func TestTaskJobPutsDefaultsTogether(t *testing.T) {
	d := decodeDAG(t, exampleDAG)
	join := d.TaskJob(2)
	want := &spec.Job{
		Kind: "Job", Name: "join", Description: "Rates onto orders", Binary: "join@stable", Interpreter: "perl",
		Env: map[string]string{"LEVEL": "debug"}, Payload: json.RawMessage("[1,2]"), Timezone: "UTC",
		Tier: spec.TierHeavy, RunsOn: map[string]string{"arch": "arm64", "gpu": "true", "zone": "b"},
		Class: spec.ClassStandard, Timeout: spec.Duration(2 * time.Hour), Grace: spec.Duration(5 * time.Second),
		Retry:   spec.Retry{MaxAttempts: 4, Delay: spec.DefaultRetryDelay, MaxDelay: spec.DefaultRetryMaxDelay, On: []int{75}},
		Overlap: spec.OverlapSkip, CatchUp: spec.CatchUp{Policy: spec.CatchUpLast, Window: spec.DefaultCatchUpWindow},
		Delivery: spec.DeliveryAtLeastOnce, Limits: spec.Limits{Memory: 256 * spec.Mebibyte, CPU: 2, Output: spec.DefaultOutput},
	}
	if diff := cmp.Diff(want, join); diff != "" {
		t.Errorf("job differs (-want +got):\n%s", diff)
	}
	orders := d.TaskJob(0)
	if orders.Interpreter != "python3" || orders.Tier != spec.TierLight || orders.Class != spec.ClassPremium || string(orders.Payload) != `{"region":"north"}` {
		t.Errorf("defaults are not applied: %+v", orders)
	}
	join.RunsOn["zone"], orders.RunsOn["zone"] = "x", "x"
	if again := d.TaskJob(2); again.RunsOn["zone"] != "b" || d.Defaults.RunsOn["zone"] != "a" {
		t.Error("the task's job shares what it runs on with the DAG")
	}
	join.Env["LEVEL"], join.Retry.On[0], orders.Payload[0] = "x", 1, ' '
	if again := d.TaskJob(2); again.Env["LEVEL"] != "debug" || again.Retry.On[0] != 75 || !json.Valid(d.Payload) {
		t.Error("the task's job shares something with the DAG")
	}
}

func TestRootsHaveTheirOwnScheduleOrTheDAGs(t *testing.T) {
	d := decodeDAG(t, exampleDAG)
	orders, rates := d.Definition(0, "k", time.Time{}), d.Definition(1, "k", time.Time{})
	if orders.Cron[0] != "0 * * * *" || orders.Timezone != "Asia/Dhaka" || rates.Cron[0] != "*/30 * * * *" || rates.Timezone != "UTC" {
		t.Errorf("orders %+v, rates %+v", orders, rates)
	}
	if d.Manual() || !decodeDAG(t, dagHead+"  a: {binary: b}\n").Manual() {
		t.Error("a DAG is manual exactly if no root has a schedule")
	}
}

func TestCloneOfADAGSharesNothing(t *testing.T) {
	d := decodeDAG(t, exampleDAG)
	clone := d.Clone()
	if diff := cmp.Diff(d, clone); diff != "" {
		t.Fatalf("the clone differs (-want +got):\n%s", diff)
	}
	clone.Payload[0], clone.Args["day"], clone.Schedule[0], *clone.Active.From = ' ', "x", "x", time.Time{}
	clone.Exclude[0].Cron, clone.Labels["team"], clone.Defaults.Env["LEVEL"], clone.Defaults.Retry.On[0] = "x", "x", "x", 1
	clone.Tasks[0].Args[0], clone.Tasks[0].Labels["source"], clone.Tasks[1].Schedule[0] = "x", "x", "x"
	clone.Tasks[2].Env["LEVEL"], clone.Tasks[2].Payload[0], clone.Tasks[2].Needs[0], clone.Tasks[3].Secrets["TOKEN"] = "x", ' ', "x", "x"
	clone.Tasks[4].Name = "x"
	if diff := cmp.Diff(decodeDAG(t, exampleDAG), d); diff != "" {
		t.Errorf("changing the clone changed the DAG:\n%s", diff)
	}
}

func TestDAGsAreEqualByMeaning(t *testing.T) {
	base := decodeDAG(t, dagHead+"  a: {binary: b}\n  c: {binary: b}\n  d: {binary: b, needs: [a, c]}\n")
	for text, equal := range map[string]bool{
		"  c: {binary: b}\n  d: {needs: [c, a], binary: b, trigger: all_success}\n  a: {binary: b}\n":         true,
		"  a: {binary: b}\n  c: {binary: b}\n  d: {binary: b, needs: [a, c]}\ntimezone: UTC\noverlap: skip\n": true,
		"  a: {binary: b}\n  c: {binary: b}\n  d: {binary: b, needs: [a]}\n":                                  false,
		"  a: {binary: b}\n  c: {binary: b}\n  d: {binary: b, needs: [a, c], trigger: all_done}\n":            false,
	} {
		if got := decodeDAG(t, dagHead+text).Equal(base); got != equal {
			t.Errorf("equal is %v for\n%s", got, text)
		}
	}
}

const dagHead = "kind: DAG\nname: d\ntasks:\n"

type badDAG struct {
	name  string
	text  string // after dagHead: begins on line 4
	whole string
	want  []string
}

func (b badDAG) input() string {
	if b.whole != "" {
		return b.whole
	}
	return dagHead + b.text
}

var badDAGs = []badDAG{
	{name: "cycle", text: "  a: {binary: b, needs: [c]}\n  b: {binary: b, needs: [a]}\n  c: {binary: b, needs: [b]}\n", want: []string{
		"4:26: tasks.a.needs[0] closes a cycle, a -> b -> c -> a: each waits for the one before it, so remove one of these needs"}},
	{name: "self-need", text: "  a: {binary: b, needs: [a]}\n", want: []string{"4:26: tasks.a.needs[0] is the task itself, which would wait for itself forever: remove it"}},
	{name: "unknown need", text: "  fetch: {binary: b}\n  join: {binary: b, needs: [fetsh, other.fetch]}\n", want: []string{
		`5:29: tasks.join.needs[0] is "fetsh", which is not a task of this DAG: did you mean fetch?`,
		`5:36: tasks.join.needs[1] is "other.fetch", which is not a task of this DAG: tasks of another DAG cannot be needed; put both into one DAG`}},
	{name: "names by case", text: "  load: {binary: b}\n  Load: {binary: b}\n", want: []string{
		`5:3: tasks.Load differs from task "load" in upper and lower case only: people would take one for the other, so rename it`}},
	{name: "repeated task", text: "  a: {binary: b}\n  a: {binary: b}\n", want: []string{`5:3: key "a" is given twice: the first is on line 4`}},
	{name: "no binary", text: "  a: {args: [x]}\n", want: []string{"4:3: tasks.a.binary is missing: name an uploaded program, such as report or report@stable"}},
	{name: "retention of a task", text: "  a: {binary: b, retention: {runs: 5}}\n", want: []string{
		`4:18: unknown key "retention" in tasks.a: did you mean retention?`}},
	{name: "alerts of a task", text: "  a: {binary: b, alerts: {on: [missed, none, failed], lag: 1m, silent_for: 1h, to: [ops]}}\n", want: []string{
		"4:32: tasks.a.alerts.on[0] is missed, which belongs to the alerts of the DAG: a task has no slots of its own",
		"4:40: tasks.a.alerts.on[1] is none, and a task has no alerts but its own: remove alerts",
		"4:60: tasks.a.alerts.lag belongs to the alerts of the DAG: a task has no slots of its own",
		"4:76: tasks.a.alerts.silent_for belongs to the alerts of the DAG: a task has no slots of its own"}},
	{name: "alerts of a task to no target", text: "  a: {binary: b, alerts: {on: [failed]}}\n", want: []string{
		"4:26: tasks.a.alerts.to is missing: name the notification targets, a task takes none from its DAG or its namespace"}},
	{name: "alerts of a task of nothing", text: "  a: {binary: b, alerts: {to: [ops]}}\n", want: []string{
		"4:31: tasks.a.alerts.to has no alerts: say which, such as on: [failed]"}},
	{name: "alerts of a DAG", text: "  a: {binary: b}\nalerts: {on: [slow, failde]}\n", want: []string{
		"5:15: alerts.on[0] is slow, which is asked for by its time: set alerts.duration instead",
		`5:21: alerts.on[1] must be failed, dead, missed, skipped, recovered or none, not "failde": did you mean failed?`}},
	{name: "nothing", text: "  a:\n", want: []string{"4:3: tasks.a has no value: give it at least a binary, as in {binary: fetch}"}},
	{name: "name of a task", text: "  a.b: {binary: b}\n", want: []string{"4:3: tasks.a.b has a name that has a '.': use letters, digits, '-' and '_'"}},
	{name: "tasks as a list", whole: "kind: DAG\nname: d\ntasks: [{name: a}]\n", want: []string{"3:8: tasks must be a mapping of names to tasks, such as {fetch: {binary: fetch}}, not a list"}},
	{name: "no tasks", whole: "kind: DAG\nname: d\n", want: []string{"1:1: tasks is empty: a DAG has at least one task"}},
	{name: "misspelt kind", whole: "kind: dag\nname: d\ntasks: {a: {binary: b}}\n", want: []string{`1:7: kind must be DAG, not "dag": did you mean DAG?`}},
	{name: "missing kind", whole: "name: d\ntasks: {a: {binary: b}}\n", want: []string{"1:1: kind is missing: write kind: DAG"}},
	{name: "schedule with needs", text: "  a: {binary: b}\n  c: {binary: b, needs: [a], schedule: '@daily'}\n", want: []string{
		"5:40: tasks.c.schedule belongs on tasks without needs: this one starts when what it needs has ended, so remove schedule or needs"}},
	{name: "root without schedule", text: "  a: {binary: b, schedule: '@daily'}\n  c: {binary: b}\n", want: []string{
		`5:3: tasks.c needs nothing and has no schedule, but "a" has one: give it a schedule, give the DAG one, or let it need another task`}},
	{name: "bad schedules", text: "  a: {binary: b, schedule: '61 * * * *'}\n  c: {binary: b, schedule: ['@daily', '0 0 30 2 *'], timezone: Moon}\ntimezone: Mars\n", want: []string{
		"4:28: tasks.a.schedule: minute 61 is outside 0-59",
		`5:39: tasks.c.schedule[1] never fires: 30 February never comes`,
		`5:64: tasks.c.timezone: unknown time zone "Moon"; write an IANA name such as Asia/Dhaka, or UTC`,
		`6:11: timezone: unknown time zone "Mars"; did you mean Europe/Paris?`}},
	{name: "every", text: "  a: {binary: b, every: 5s}\n", want: []string{
		`4:18: unknown key "every" in tasks.a: the roots of a DAG have cron expressions, as in schedule: "@every 90s"`}},
	{name: "key of another scheduler", text: "  a: {binary: b}\n  c: {binary: b, depends_on: [a], trigger_rule: all_done}\n", want: []string{
		`5:18: unknown key "depends_on" in tasks.c: did you mean needs?`,
		`5:35: unknown key "trigger_rule" in tasks.c: did you mean trigger?`}},
	{name: "trigger", text: "  a: {binary: b, trigger: one_failed}\n  c: {binary: b, needs: [a], trigger: all_failed}\n", want: []string{
		"4:27: tasks.a.trigger says by what needs the task starts, and it has none: remove trigger, or add needs",
		`5:39: tasks.c.trigger must be all_success, all_done, one_success, one_failed, none_failed or always, not "all_failed"`}},
	{name: "expressions", text: "  a: {binary: b}\n  c: {binary: b, needs: [a], when: 'outputs.a.rows >', for_each: epoch}\n  d: {binary: b, needs: [a], when: '1 / 0 > outputs.a.x'}\n", want: []string{
		"5:36: tasks.c.when does not compile: unexpected token EOF (at character 16)",
		"5:66: tasks.c.for_each must be a list, and this is a number: name an output that holds one, such as outputs.join.shops",
		"6:36: tasks.d.when divides by zero: test the divisor first, as in n != 0 && total / n > 2"}},
	{name: "for_each as a list", text: "  a: {binary: b, for_each: [1, 2]}\n", want: []string{"4:28: tasks.a.for_each must be text, not a list"}},
	{name: "outputs of others", text: "  fetch: {binary: b}\n  a: {binary: b, needs: [fetch], when: outputs.fetsh.x}\n  c: {binary: b, needs: [a], when: outputs.d.x && outputs.fetch.x}\n  d: {binary: b, when: outputs.d.x}\n", want: []string{
		`5:40: tasks.a.when reads the output of "fetsh", which is not a task of this DAG: did you mean fetch?`,
		`6:36: tasks.c.when reads the output of "d", which need not have run before this task: add it to needs`,
		"7:24: tasks.d.when reads the output of the task itself, which has not run yet: name a task that it needs"}},
	{name: "max_parallel", text: "  a: {binary: b, max_parallel: 3}\nmax_parallel: 20000\n", want: []string{
		"4:32: tasks.a.max_parallel bounds the runs of a for_each, which this task has not: remove it, or put it on the DAG",
		"5:15: max_parallel must be from 1 to 10000, not 20000"}},
	{name: "defaults", text: "  a: {}\ndefaults: {binary: a b, env: {2A: x}, retry: {delay: 5}}\n", want: []string{
		"5:20: defaults.binary has a space: use letters, digits, '-' and '_'",
		"5:35: defaults.env.2A is not a name for an environment variable: use letters, digits and '_', and no digit first",
		"5:54: defaults.retry.delay needs a unit: write 5s, 5m or 5h"}},
	{name: "defaults against a task", text: "  a: {binary: b, retry: {max_delay: 1s}}\ndefaults: {retry: {delay: 1m}}\n", want: []string{
		"4:37: tasks.a.retry.max_delay must not be less than retry.delay (1m)"}},
	{name: "overlap", text: "  a: {binary: b}\noverlap: allow\n", want: []string{`5:10: overlap must be skip or queue, not "allow"`}},
	{name: "a policy of the DAG on a task", text: "  a: {binary: b, overlap: skip}\n", want: []string{`4:18: unknown key "overlap" in tasks.a: did you mean overlap?`}},
}

func TestBadDAGsAreRefusedWithTheirPlace(t *testing.T) {
	for _, bad := range badDAGs {
		t.Run(bad.name, func(t *testing.T) {
			_, problems := spec.Decode("job.yaml", []byte(bad.input()))
			checkProblems(t, problems, bad.want)
		})
	}
}

func TestJobsAndDAGsMayBeMixed(t *testing.T) {
	documents, problems := spec.Decode("job.yaml", []byte(head+"---\n"+exampleDAG+"---\n"+strings.Replace(head, "name: a", "name: etl", 1)))
	checkProblems(t, problems, []string{fmt.Sprintf(`%d:7: name "etl" is taken by the DAG on line 5 of this file: names are unique`, 5+strings.Count(exampleDAG, "\n")+2)})
	if len(documents) != 2 || documents[0].Kind() != "Job" || documents[1].Kind() != "DAG" || documents[1].Name() != "etl" {
		t.Errorf("documents are %+v", documents)
	}
}

func TestDAGsOfAnySize(t *testing.T) {
	text := func(count int) string {
		var text strings.Builder
		text.WriteString(dagHead + "  t0: {binary: b}\n")
		for i := 1; i < count; i++ {
			fmt.Fprintf(&text, "  t%d: {binary: b, needs: [t%d]}\n", i, i-1)
		}
		return text.String()
	}
	if d := decodeDAG(t, text(dag.MaxTasks)); len(d.Tasks) != dag.MaxTasks || d.Tasks[7].Name != "t7" {
		t.Errorf("%d tasks were read", len(d.Tasks))
	}
	_, problems := spec.Decode("job.yaml", []byte(text(50_000)))
	checkProblems(t, problems, []string{"4:3: tasks has 50000 tasks: use at most 10000, or let one task run over a list with for_each"})
}

func TestDecodeDAGReadsABody(t *testing.T) {
	d, problems := spec.DecodeDAG("etl", []byte(`{"tasks": {"b": {"binary": "x"}, "a": {"binary": "x", "needs": ["b"]}}}`))
	if len(problems) > 0 || d.Name != "etl" || d.Kind != "DAG" || d.Tasks[0].Name != "b" {
		t.Fatalf("%+v, %v", d, problems)
	}
	if d, problems := spec.DecodeDAG("", []byte(`{"kind": "Job", "name": "a"}`)); d != nil || problems.Error() != `1:10: kind must be DAG, not "Job"` {
		t.Errorf("%+v, %v", d, problems)
	}
}

func TestSummaryOfADAG(t *testing.T) {
	for text, want := range map[string]string{
		"  a: {binary: b}\n": "1 task, manual only",
		"  a: {binary: b}\n  c: {binary: b, needs: [a]}\nschedule: '@every 90s'\n": "2 tasks; a: every 1m30s, UTC",
	} {
		if got := decodeDAG(t, dagHead+text).Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every task with a condition that reads a task far above: still no more than the tasks cost.
func BenchmarkDecodeLargeDAG(b *testing.B) {
	var text strings.Builder
	text.WriteString(dagHead + "  t0: {binary: b}\n")
	for i := 1; i < dag.MaxTasks; i++ {
		fmt.Fprintf(&text, "  t%d: {binary: b, needs: [t%d], when: outputs.t0.rows > %d}\n", i, i-1, i)
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := spec.Decode("dag.yaml", data); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
