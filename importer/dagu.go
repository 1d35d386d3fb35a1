package importer

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// dagu is a DAG of dagu that is being read.
type dagu struct {
	*builder
	name  string
	env   map[string]string
	names map[string]string // of steps and their ids, to names here
}

// Dagu reads a DAG of dagu; name is what the file is called, without .yaml, for one that has no name of its own. Error: it is not YAML.
func Dagu(text, name string) (Result, error) {
	found, err := documents(text)
	if err != nil {
		return Result{}, err
	}
	b := newBuilder()
	for i, document := range found {
		d := &dagu{builder: b, name: document.get("name").text(), env: map[string]string{}, names: map[string]string{}}
		if d.name == "" && i == 0 {
			d.name = name
		}
		d.read(document)
	}
	return b.finish(), nil
}

func (d *dagu) read(n node) {
	d.environment(n.get("env"), d.env)
	d.parameters(n.get("params"))
	result := &spec.DAG{
		Name: d.name, Description: n.get("description").text(), Schedule: d.schedule(n.get("schedule")),
		Defaults: spec.TaskDefaults{Timeout: n.get("timeoutSec").seconds()},
	}
	if len(d.env) > 0 {
		result.Defaults.Env = d.env
	}
	for _, key := range []string{"maxActiveSteps", "max_active_steps"} {
		if bound, ok := n.get(key).number(); ok {
			result.MaxParallel = bound
		}
	}
	if skip := n.get("skipIfSuccessful"); skip.yes() {
		d.note(skip.line(), "skipIfSuccessful has no counterpart and is left out")
	}
	if mail := n.get("mailOn"); !mail.none() {
		result.Alerts = d.alerts(mail)
	}
	for _, key := range []string{"histRetentionDays", "hist_retention_days"} {
		if days := n.get(key); !days.none() {
			result.Retention.Age = d.keptFor(days, key, 24*time.Hour)
		}
	}
	d.steps(n, result)
	d.unmapped(n, "", "name", "description", "schedule", "env", "params", "steps", "type", "timeoutSec", "maxActiveSteps", "max_active_steps",
		"mailOn", "smtp", "errorMail", "infoMail", "skipIfSuccessful", "tags", "group", "histRetentionDays", "hist_retention_days", "logDir", "handlerOn", "handler_on")
	for _, key := range []string{"handlerOn", "handler_on"} {
		if handlers := n.get(key); !handlers.none() {
			d.note(handlers.line(), "handlers are left out: add a last task with trigger: always or one_failed, or alerts")
		}
	}
	if tags := n.get("tags"); !tags.none() {
		result.Labels = map[string]string{}
		for _, tag := range strings.FieldsFunc(strings.Join(tags.texts(), ","), func(r rune) bool { return r == ',' || r == ' ' }) {
			key, value, _ := strings.Cut(tag, "=")
			result.Labels[key] = value
		}
	}
	d.dag(n.line(), result)
}

// schedule reads one schedule, a list, or start times beside stop times.
func (d *dagu) schedule(n node) spec.Strings {
	if n.get("start").Node != nil {
		for _, key := range []string{"stop", "restart"} {
			if times := n.get(key); !times.none() {
				d.note(times.line(), "schedule.%s has no counterpart and is left out: a timeout ends a run", key)
			}
		}
		n = n.get("start")
	}
	var schedules spec.Strings
	for _, schedule := range n.texts() {
		schedule, zone := zoned(schedule, "")
		if zone != "" {
			d.note(n.line(), "the zone %s of a schedule is left out: set timezone for the DAG", zone)
		}
		schedules = append(schedules, schedule)
	}
	return schedules
}

// environment reads variables, as a mapping or a list of them.
func (d *dagu) environment(n node, into map[string]string) {
	for _, item := range append(n.list(), n) {
		for _, p := range item.pairs() {
			into[p.key] = p.value.text()
			if strings.Contains(p.value.text(), "`") {
				d.note(p.line, "%s: a command in a variable is not run; it stands there as it was", p.key)
			}
		}
		if key, value, ok := strings.Cut(item.text(), "="); ok {
			into[key] = value
		}
	}
}

// parameters are variables, too: NAME=value, or a mapping.
func (d *dagu) parameters(n node) {
	if n.none() {
		return
	}
	before := len(d.env)
	if text := n.text(); text != "" {
		for word := range strings.FieldsSeq(text) {
			if key, value, ok := strings.Cut(word, "="); ok {
				d.env[key] = strings.Trim(value, `"`)
			}
		}
	} else {
		d.environment(n, d.env)
	}
	if len(d.env) > before {
		d.note(n.line(), "params are variables with these values; a manual run changes them by --arg")
	} else {
		d.note(n.line(), "params without names ($1, $2) are left out: name them")
	}
}

func (d *dagu) alerts(n node) *spec.Alerts {
	alerts := &spec.Alerts{To: []string{"mail"}}
	if n.get("failure").yes() {
		alerts.On = append(alerts.On, spec.AlertFailed)
	}
	if n.get("success").yes() {
		d.note(n.get("success").line(), "mailOn.success is left out: users are notified of failures, and of the recovery after one")
	}
	if len(alerts.On) == 0 {
		return nil
	}
	d.note(n.line(), "mailOn: failures go to the target mail; make it by: tidewheel notify target set mail --email ADDRESS")
	return alerts
}

// daguStep is a step with its name here.
type daguStep struct {
	node
	name string
}

// steps reads the steps. Without depends and type: graph, each comes after the previous one; a list in the list is a group whose
// steps run side by side.
func (d *dagu) steps(n node, result *spec.DAG) {
	groups := d.groups(n.get("steps"))
	chain := n.get("type").text() != "graph"
	for _, group := range groups {
		for _, s := range group {
			chain = chain && s.get("depends").none()
		}
	}
	var before []string
	for _, group := range groups {
		var names []string
		for _, s := range group {
			task := d.step(s)
			if chain {
				task.Needs = before
			}
			names = append(names, s.name)
			result.Tasks = append(result.Tasks, task)
		}
		before = names
	}
	if chain && len(groups) > 1 {
		d.note(n.get("steps").line(), "no step has depends, so that each needs the one before it, as with dagu's type: chain")
	}
}

// groups names all steps, of a mapping or a list.
func (d *dagu) groups(n node) [][]daguStep {
	var groups [][]daguStep
	count := 0
	named := func(item node, name string) daguStep {
		count++
		if name == "" {
			name = item.get("name").text()
		}
		if name == "" {
			name = fmt.Sprintf("step-%d", count)
		}
		valid := validName(name)
		d.names[name] = valid
		if id := item.get("id").text(); id != "" {
			d.names[id] = valid
		}
		return daguStep{item, valid}
	}
	for _, p := range n.pairs() {
		groups = append(groups, []daguStep{named(p.value, p.key)})
	}
	for _, item := range n.list() {
		group := item.list()
		if group == nil {
			group = []node{item}
		}
		var steps []daguStep
		for _, inner := range group {
			steps = append(steps, named(inner, ""))
		}
		groups = append(groups, steps)
	}
	return groups
}

func (d *dagu) step(s daguStep) spec.Task {
	task := spec.Task{
		Name: s.name, Description: s.get("description").text(), Binary: ShellName, Args: d.command(d.commandText(s)),
		Timeout: s.get("timeoutSec").seconds(),
	}
	if n := s.get("timeout_sec"); !n.none() {
		task.Timeout = n.seconds()
	}
	env := map[string]string{}
	d.environment(s.get("env"), env)
	if len(env) > 0 {
		task.Env = env
	}
	for _, name := range s.get("depends").texts() {
		if valid, ok := d.names[name]; ok {
			task.Needs = append(task.Needs, valid)
		} else {
			d.note(s.get("depends").line(), "step %s depends on %q, which is not there; it is left out", s.name, name)
		}
	}
	d.retry(s, &task)
	d.goesOn(s)
	d.unmapped(s.node, "step "+s.name+": ", "name", "id", "description", "command", "run", "script", "args", "shell", "dir", "workingDir", "working_dir", "env",
		"depends", "timeoutSec", "timeout_sec", "retryPolicy", "retry_policy", "continueOn", "continue_on", "signalOnStop")
	return task
}

// commandText is what a step runs, in the folder that it names.
func (d *dagu) commandText(s daguStep) string {
	n := s.get("command")
	if n.none() {
		n = s.get("run")
	}
	text := n.text()
	if words := n.list(); words != nil {
		text = join(n.texts())
	}
	if text == "" && s.Node != nil {
		text = s.text() // a step that is nothing but its command
	}
	if args := s.get("args").texts(); len(args) > 0 {
		text += " " + join(args)
	}
	if script := s.get("script").text(); script != "" {
		switch text {
		case "", "sh", "bash":
			text = script
		default:
			text += " /dev/fd/3 3<<'TIDEWHEEL_SOURCE'\n" + strings.TrimSuffix(script, "\n") + "\nTIDEWHEEL_SOURCE"
		}
	}
	if text == "" {
		d.note(s.line(), "step %s has no command; put one in the place of the false that stands there", s.name)
		text = "false"
	}
	for _, key := range []string{"dir", "workingDir", "working_dir"} {
		if folder := s.get(key).text(); folder != "" {
			text = "cd " + quote(folder) + " && " + text
		}
	}
	return text
}

func (d *dagu) retry(s daguStep, task *spec.Task) {
	for _, key := range []string{"retryPolicy", "retry_policy"} {
		policy := s.get(key)
		if limit, ok := policy.get("limit").number(); ok && limit > 0 {
			task.Retry = spec.Retry{MaxAttempts: limit + 1, Delay: policy.get("intervalSec").seconds()}
			if task.Retry.Delay == 0 {
				task.Retry.Delay = policy.get("interval_sec").seconds()
			}
			d.note(policy.line(), "step %s: the wait before a retry is random and grows, up to retry.max_delay", s.name)
		}
	}
}

// goesOn notes what a step asks of those after it: that is the trigger of each of them here.
func (d *dagu) goesOn(s daguStep) {
	for _, key := range []string{"continueOn", "continue_on"} {
		if n := s.get(key); !n.none() {
			d.note(n.line(), "step %s continues after a failure: give the tasks that need it trigger: all_done", s.name)
		}
	}
}
