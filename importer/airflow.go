package importer

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/spec"
)

// airflow is a file of Airflow that is being read.
type airflow struct {
	*builder
	defaults map[string]map[string]value // dictionaries by the names of their variables
	dags     []*airflowDAG
	byName   map[string]*airflowDAG // by the name of the variable
	tasks    map[string]*airflowTask
}

type airflowDAG struct {
	line  int
	args  map[string]value // of the call
	tasks []*airflowTask
}

type airflowTask struct {
	line int
	task spec.Task
	of   *airflowDAG
}

// Airflow reads DAGs of BashOperators, as far as their arguments are written out. The file is not run. Error: it has no DAG.
func Airflow(text string) (Result, error) {
	a := &airflow{
		builder: newBuilder(), defaults: map[string]map[string]value{}, byName: map[string]*airflowDAG{}, tasks: map[string]*airflowTask{},
	}
	var current *airflowDAG
	for _, s := range statements(text) {
		switch c := s.called(); {
		case c.name == "DAG":
			current = &airflowDAG{line: s.line, args: c.arguments("dag_id")}
			a.dags = append(a.dags, current)
			if s.target != "" {
				a.byName[s.target] = current
			}
		case c.name == "BashOperator":
			a.bash(s, current)
		case strings.HasSuffix(c.name, "Operator") || strings.HasSuffix(c.name, "Sensor"):
			a.note(s.line, "%s has no counterpart: task %s is left out, and so are its arrows", c.name, c.arguments("task_id")["task_id"].text)
		case s.decorator == "dag" || s.decorator == "task":
			a.note(s.line, "@%s: functions are not run: make a program of it and upload it", s.decorator)
		case s.value.dictionary != nil && s.target != "":
			a.defaults[s.target] = s.value.dictionary
		default:
			a.arrows(s)
		}
	}
	if len(a.dags) == 0 {
		return Result{}, errors.New("this has no DAG: expected DAG(\"name\", …) or with DAG(…) as dag")
	}
	for _, d := range a.dags {
		a.finishDAG(d)
	}
	return a.finish(), nil
}

// bash reads a BashOperator.
func (a *airflow) bash(s statement, current *airflowDAG) {
	args := s.called().arguments("task_id")
	if named, ok := a.byName[args["dag"].name]; ok {
		current = named
	}
	id, command := args["task_id"].text, args["bash_command"]
	switch {
	case current == nil:
		a.note(s.line, "task %s is outside of all DAGs, and is left out", id)
		return
	case !command.literal:
		a.note(s.line, "the command of %s is not written out, and the task is left out", id)
		return
	}
	if strings.Contains(command.text, "{{") {
		a.note(s.line, "templates in the command of %s: {{ ds }} and {{ ts }} became $TIDEWHEEL_SLOT; all others stand there as they were", id)
	}
	t := &airflowTask{line: s.line, of: current, task: spec.Task{Name: validName(id), Binary: ShellName, Args: a.command(templated(command.text))}}
	a.options(s.line, id, args, &t.task)
	for key, v := range args["env"].dictionary {
		if t.task.Env == nil {
			t.task.Env = map[string]string{}
		}
		if v.literal {
			t.task.Env[key] = setting(v.text)
		} else {
			a.note(s.line, "%s: the variable %s is not written out, and is left out", id, key)
		}
	}
	for _, key := range sortedNames(args) {
		if !slices.Contains([]string{"task_id", "bash_command", "dag", "env", "retries", "retry_delay", "execution_timeout", "trigger_rule", "doc_md",
			"append_env", "owner", "pool", "depends_on_past"}, key) {
			a.note(s.line, "%s: %s has no counterpart and is left out", id, key)
		}
	}
	current.tasks = append(current.tasks, t)
	if s.target != "" {
		a.tasks[s.target] = t
	}
}

// templated puts shell variables in the place of the commonest templates.
func templated(command string) string {
	return strings.NewReplacer("{{ ts }}", "$TIDEWHEEL_SLOT", "{{ts}}", "$TIDEWHEEL_SLOT", "{{ run_id }}", "$TIDEWHEEL_RUN_ID",
		"{{ ds }}", "$(echo \"$TIDEWHEEL_SLOT\" | cut -c1-10)", "{{ds}}", "$(echo \"$TIDEWHEEL_SLOT\" | cut -c1-10)").Replace(command)
}

// options reads what default_args may say, too.
func (a *airflow) options(line int, id string, args map[string]value, task *spec.Task) {
	if retries, ok := args["retries"].number(); ok && retries > 0 {
		task.Retry.MaxAttempts = retries + 1
		task.Retry.Delay = args["retry_delay"].duration()
	}
	task.Timeout = args["execution_timeout"].duration()
	if rule := args["trigger_rule"]; rule.text != "" || rule.name != "" {
		text := strings.ToLower(strings.TrimPrefix(rule.text+rule.name, "TriggerRule."))
		if slices.Contains(dag.Triggers(), dag.Trigger(text)) {
			task.Trigger = dag.Trigger(text)
		} else {
			a.note(line, "%s: trigger_rule %s has no counterpart, and is left out", id, text)
		}
	}
	if args["depends_on_past"].name == "True" {
		a.note(line, "%s: depends_on_past is left out: waves of a DAG never overlap", id)
	}
}

// arrows reads a >> b, [a, b] << c, chain(…), set_upstream and set_downstream.
func (a *airflow) arrows(s statement) {
	for _, e := range s.edges {
		for _, from := range e.from {
			for _, to := range e.to {
				before, after := a.tasks[from], a.tasks[to]
				switch {
				case before == nil || after == nil:
					a.note(s.line, "the arrow from %s to %s is left out: one of them is no task here", from, to)
				case !slices.Contains(after.task.Needs, before.task.Name):
					after.task.Needs = append(after.task.Needs, before.task.Name)
				}
			}
		}
	}
}

var airflowPresets = map[string]string{"@once": "", "None": "", "@continuous": "", "@daily": "@daily", "@hourly": "@hourly", "@weekly": "@weekly",
	"@monthly": "@monthly", "@yearly": "@yearly", "@quarterly": "0 0 1 */3 *"}

func (a *airflow) finishDAG(d *airflowDAG) {
	id := d.args["dag_id"].text
	result := &spec.DAG{Name: id, Description: d.args["description"].text, CatchUp: spec.CatchUp{Policy: spec.CatchUpAll}}
	if d.args["catchup"].name != "True" {
		result.CatchUp.Policy = spec.CatchUpLast
	}
	schedule, named := d.args["schedule"]
	if !named {
		schedule, named = d.args["schedule_interval"]
	}
	preset, known := airflowPresets[schedule.text+schedule.name]
	switch {
	case known && preset != "":
		result.Schedule = spec.Strings{preset}
	case known || !named:
	case schedule.literal:
		result.Schedule = spec.Strings{schedule.text}
	case schedule.duration() > 0:
		result.Schedule = spec.Strings{"@every " + time.Duration(schedule.duration()).String()}
	default:
		a.note(d.line, "the schedule of %s is not written out, and is left out", id)
	}
	defaults := d.args["default_args"].dictionary
	if defaults == nil {
		defaults = a.defaults[d.args["default_args"].name]
	}
	common := spec.Task{}
	a.options(d.line, id, defaults, &common)
	result.Defaults.Retry, result.Defaults.Timeout = common.Retry, common.Timeout
	if _, ok := defaults["email"]; ok {
		a.note(d.line, "%s: email of default_args: make a target by tidewheel notify target set, and name it in alerts", id)
	}
	for _, key := range sortedNames(d.args) {
		if !slices.Contains([]string{"dag_id", "description", "schedule", "schedule_interval", "default_args", "start_date", "catchup", "tags",
			"max_active_runs", "doc_md"}, key) {
			a.note(d.line, "%s: %s has no counterpart and is left out", id, key)
		}
	}
	if _, ok := d.args["start_date"]; ok {
		a.note(d.line, "%s: start_date is left out: the schedule begins now; earlier slots are run by tidewheel backfill", id)
	}
	for _, tag := range d.args["tags"].list {
		if result.Labels == nil {
			result.Labels = map[string]string{}
		}
		result.Labels[validName(tag)] = ""
	}
	for _, t := range d.tasks {
		result.Tasks = append(result.Tasks, t.task)
	}
	a.dag(d.line, result)
}

func sortedNames(m map[string]value) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
