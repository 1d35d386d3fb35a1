package importer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/spec"
)

// Templates of Argo may call one another so deep, and come to so many tasks.
const (
	maxTemplates = 20
	maxTasks     = 5000
)

// argo is a workflow that is being read.
type argo struct {
	*builder
	name       string
	templates  map[string]node
	parameters map[string]string // of the workflow, as {{workflow.parameters.NAME}}
	tasks      spec.Tasks
}

// Argo reads CronWorkflows, and Workflows, which have no schedule. Error: it is not YAML.
func Argo(text string) (Result, error) {
	found, err := documents(text)
	if err != nil {
		return Result{}, err
	}
	b := newBuilder()
	for _, document := range found {
		switch kind := document.get("kind").text(); kind {
		case "CronWorkflow":
			b.workflow(document, document.get("spec"), document.get("spec", "workflowSpec"))
		case "Workflow":
			b.workflow(document, node{}, document.get("spec"))
		default:
			b.note(document.line(), "kind %q is neither CronWorkflow nor Workflow, and is left out", kind)
		}
	}
	return b.finish(), nil
}

func (b *builder) workflow(document, cron, flow node) {
	a := &argo{builder: b, name: document.get("metadata", "name").text(), templates: map[string]node{}, parameters: map[string]string{}}
	if a.name == "" {
		a.name = document.get("metadata", "generateName").text()
	}
	for _, template := range flow.get("templates").list() {
		a.templates[template.get("name").text()] = template
	}
	for name, value := range arguments(flow.get("arguments")) {
		a.parameters["workflow.parameters."+name] = value
	}
	a.parameters["workflow.name"], a.parameters["workflow.uid"] = a.name, reference("TIDEWHEEL_RUN_ID")
	a.parameters["workflow.scheduledTime"] = reference("TIDEWHEEL_SLOT")
	b.unmapped(flow, a.name+": ", "templates", "entrypoint", "arguments", "activeDeadlineSeconds", "onExit", "parallelism", "podGC", "ttlStrategy")
	if exit := flow.get("onExit"); !exit.none() {
		b.note(exit.line(), "%s: onExit %s is left out: add it as a last task with trigger: always", a.name, exit.text())
	}
	entry, ok := a.templates[flow.get("entrypoint").text()]
	if !ok {
		b.note(document.line(), "%s: there is no template %q to enter by, and it is left out", a.name, flow.get("entrypoint").text())
		return
	}
	var schedules spec.Strings
	zone := cron.get("timezone").text()
	for _, schedule := range append(cron.get("schedule").texts(), cron.get("schedules").texts()...) {
		schedule, zone = zoned(schedule, zone)
		schedules = append(schedules, schedule)
	}
	b.suspended(cron, "dag", a.name)
	b.unmapped(cron, a.name+": ", "schedule", "schedules", "timezone", "concurrencyPolicy", "startingDeadlineSeconds", "suspend", "workflowSpec",
		"successfulJobsHistoryLimit", "failedJobsHistoryLimit")
	if overlap := cron.get("concurrencyPolicy"); overlap.text() == "Allow" || overlap.text() == "Replace" {
		b.note(overlap.line(), "%s: concurrencyPolicy %s: waves of a DAG never overlap; a slot during one is skipped", a.name, overlap.text())
	}
	a.template(entry, nil, nil, "", a.parameters)
	parallel, _ := flow.get("parallelism").number()
	retention := b.historyOf(cron)
	retention.Age = b.keptFor(flow.get("ttlStrategy", "secondsAfterCompletion"), a.name+": ttlStrategy.secondsAfterCompletion", time.Second)
	b.unmapped(flow.get("ttlStrategy"), a.name+": ttlStrategy: ", "secondsAfterCompletion")
	b.dag(document.line(), &spec.DAG{
		Name: a.name, Schedule: schedules, Timezone: zone, CatchUp: catchUpOf(cron), MaxParallel: parallel, Retention: retention,
		Labels: b.labels(document.get("metadata", "labels")), Tasks: a.tasks,
	})
}

// arguments are the values of parameters by name.
func arguments(n node) map[string]string {
	values := map[string]string{}
	for _, parameter := range n.get("parameters").list() {
		value := parameter.get("value")
		if value.none() {
			value = parameter.get("default")
		}
		values[parameter.get("name").text()] = value.text()
	}
	return values
}

// call is a place where a template is used: a step, or a task of a DAG.
type call struct {
	node
	needs   []string
	trigger dag.Trigger
}

// template adds the tasks of a template below a prefix, and returns the names of those that nothing of it comes after. stack has the
// templates that lead here.
func (a *argo) template(t node, from *call, stack []string, prefix string, values map[string]string) []string {
	name := t.get("name").text()
	var needs []string
	if from != nil {
		needs = from.needs
	}
	switch {
	case slices.Contains(stack, name) || len(stack) > maxTemplates:
		a.note(t.line(), "%s: template %s calls itself, which a DAG cannot; it is left out", a.name, name)
		return needs
	case len(a.tasks) >= maxTasks:
		a.note(t.line(), "%s: has more than %d tasks; the rest is left out", a.name, maxTasks)
		return needs
	case !t.get("dag").none():
		return a.dagTemplate(t, needs, append(stack, name), prefix, values)
	case !t.get("steps").none():
		return a.stepsTemplate(t, needs, append(stack, name), prefix, values)
	case !t.get("container").none() || !t.get("script").none():
		return []string{a.task(t, from, prefix, values)}
	}
	a.note(t.line(), "%s: template %s is neither container, script, dag nor steps, and is left out", a.name, name)
	return needs
}

// task adds the task that a container or a script comes to, and returns its name.
func (a *argo) task(t node, from *call, prefix string, values map[string]string) string {
	name := prefix
	if name == "" {
		name = t.get("name").text()
	}
	task := spec.Task{Name: a.taskName(name), Binary: ShellName, RunsOn: a.labels(t.get("nodeSelector"))}
	fill := func(text string) string { return a.substitute(t.line(), text, values) }
	var p program
	if script := t.get("script"); !script.none() {
		p = a.script(script, fill)
	} else {
		p = a.container(t.get("container"), fill)
	}
	task.Args, task.Env, task.Secrets, task.Limits = p.args, p.env, p.secrets, p.limits
	task.Timeout = t.get("activeDeadlineSeconds").seconds()
	if retry := t.get("retryStrategy"); !retry.none() {
		limit, ok := retry.get("limit").number()
		if !ok {
			limit = 3
			a.note(retry.line(), "%s: retryStrategy of %s without a number became three further attempts", a.name, name)
		}
		task.Retry.MaxAttempts = limit + 1
		a.unmapped(retry, a.name+": retryStrategy: ", "limit")
	}
	a.unmapped(t, a.name+": template "+t.get("name").text()+": ", "name", "container", "script", "inputs", "activeDeadlineSeconds",
		"retryStrategy", "nodeSelector", "metadata")
	if from != nil {
		task.Needs, task.Trigger = from.needs, from.trigger
		a.condition(from, &task)
		a.items(from, &task)
	}
	a.tasks = append(a.tasks, task)
	return task.Name
}

// taskName makes a name for a task that no other has.
func (a *argo) taskName(wanted string) string {
	name := validName(wanted)
	for n := 2; slices.ContainsFunc(a.tasks, func(t spec.Task) bool { return t.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", cut(validName(wanted), spec.MaxNameLength-4), n)
	}
	return name
}

// script reads a script: its source is given to its command on standard input.
func (a *argo) script(n node, fill func(string) string) program {
	p := a.container(n, fill)
	source := fill(n.get("source").text())
	words := n.get("command").texts()
	switch {
	case len(words) == 1 && slices.Contains([]string{"sh", "/bin/sh", "bash", "/bin/bash"}, words[0]):
		p.args = a.command(source)
	default:
		p.args = a.command(join(words) + " /dev/fd/3 3<<'TIDEWHEEL_SOURCE'\n" + strings.TrimSuffix(source, "\n") + "\nTIDEWHEEL_SOURCE")
	}
	return p
}

func (a *argo) condition(from *call, task *spec.Task) {
	if when := from.get("when"); !when.none() {
		a.note(when.line(), "%s: the condition of %s is left out; write it as when: over outputs: %s", a.name, task.Name, when.text())
	}
	if hooks := from.get("hooks"); !hooks.none() {
		a.note(hooks.line(), "%s: hooks of %s are left out", a.name, task.Name)
	}
	if artifacts := from.get("arguments", "artifacts"); !artifacts.none() {
		a.note(artifacts.line(), "%s: artifacts of %s are left out: write files to $TIDEWHEEL_ARTIFACTS, and read those of the tasks before", a.name, task.Name)
	}
}

// items maps a task over a list that is written out.
func (a *argo) items(from *call, task *spec.Task) {
	if list := from.get("withItems"); !list.none() {
		var items []any
		if err := list.Decode(&items); err != nil {
			a.note(list.line(), "%s: withItems of %s cannot be read: %v", a.name, task.Name, err)
			return
		}
		text, err := json.Marshal(items)
		if err != nil {
			a.note(list.line(), "%s: withItems of %s cannot be written as JSON: %v", a.name, task.Name, err)
			return
		}
		task.ForEach = string(text)
		a.note(list.line(), "%s: {{item}} of %s is $TIDEWHEEL_ITEM here, which is JSON: a text is in quotes", a.name, task.Name)
	}
	for _, key := range []string{"withParam", "withSequence"} {
		if list := from.get(key); !list.none() {
			a.note(list.line(), "%s: %s of %s is left out: hand the list on as an output, and name it in for_each", a.name, key, task.Name)
		}
	}
}

var argoReference = regexp.MustCompile(`\{\{=?\s*([^{}]*?)\s*\}\}`)

// substitute puts values in the place of {{references}}.
func (a *argo) substitute(line int, text string, values map[string]string) string {
	return argoReference.ReplaceAllStringFunc(text, func(written string) string {
		name := argoReference.FindStringSubmatch(written)[1]
		if value, ok := values[name]; ok {
			return value
		}
		if name == "item" || strings.HasPrefix(name, "item.") {
			return reference("TIDEWHEEL_ITEM")
		}
		a.note(line, "%s: %s has no counterpart and stands there as it was", a.name, written)
		return written
	})
}

// inputs are the values that a template sees when it is called.
func (a *argo) inputs(t, from node, outer map[string]string) map[string]string {
	values := map[string]string{}
	for name, value := range a.parameters {
		values[name] = value
	}
	for name, value := range arguments(t.get("inputs")) {
		if value != "" {
			values["inputs.parameters."+name] = a.substitute(t.line(), value, outer)
		}
	}
	for name, value := range arguments(from.get("arguments")) {
		values["inputs.parameters."+name] = a.substitute(from.line(), value, outer)
	}
	return values
}
