package importer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/dag"
)

// stepsTemplate adds groups of steps: each group waits for the previous one.
func (a *argo) stepsTemplate(t node, needs, stack []string, prefix string, values map[string]string) []string {
	before := needs
	for _, group := range t.get("steps").list() {
		steps := group.list()
		if steps == nil { // one step without a list
			steps = []node{group}
		}
		var ended []string
		for _, step := range steps {
			ended = append(ended, a.called(&call{node: step, needs: before}, stack, prefix, values)...)
		}
		before = unique(ended)
	}
	return before
}

// dagTemplate adds the tasks of a DAG in an order in which each comes after what it needs.
func (a *argo) dagTemplate(t node, needs, stack []string, prefix string, values map[string]string) []string {
	waiting := t.get("dag", "tasks").list()
	ends := map[string][]string{} // of a task by its name there: the tasks here that end it
	needed := map[string]bool{}
	for len(waiting) > 0 {
		var later []node
		for _, task := range waiting {
			before, trigger := a.dependencies(task)
			if slices.ContainsFunc(before, func(name string) bool { _, done := ends[name]; return !done }) {
				later = append(later, task)
				continue
			}
			from := &call{node: task, needs: needs, trigger: trigger}
			if len(before) > 0 {
				from.needs = nil
			}
			for _, name := range before {
				needed[name] = true
				from.needs = unique(append(from.needs, ends[name]...))
			}
			ends[task.get("name").text()] = a.called(from, stack, prefix, values)
		}
		if len(later) == len(waiting) {
			for _, task := range later {
				a.note(task.line(), "%s: task %s needs one that is not there or comes after it, and is left out", a.name, task.get("name").text())
			}
			break
		}
		waiting = later
	}
	var last []string
	for _, task := range t.get("dag", "tasks").list() {
		if name := task.get("name").text(); !needed[name] {
			last = append(last, ends[name]...)
		}
	}
	return unique(last)
}

// called adds what a step or task calls.
func (a *argo) called(from *call, stack []string, prefix string, values map[string]string) []string {
	name := from.get("name").text()
	if prefix != "" {
		name = prefix + "-" + name
	}
	t, ok := a.templates[from.get("template").text()]
	if !ok && !from.get("inline").none() {
		t, ok = from.get("inline"), true
	}
	if !ok {
		a.note(from.line(), "%s: %s calls a template that is not in the file, and is left out", a.name, name)
		return from.needs
	}
	mapped := !from.get("withItems").none() || !from.get("withParam").none() || !from.get("withSequence").none()
	if mapped && t.get("container").none() && t.get("script").none() {
		a.note(from.line(), "%s: %s maps a group of tasks over a list, which only one task can be; the list is left out", a.name, name)
	}
	return a.template(t, from, stack, name, a.inputs(t, from.node, values))
}

var (
	dependsAll = regexp.MustCompile(`^\s*[\w-]+(\.Succeeded)?(\s*&&\s*[\w-]+(\.Succeeded)?)*\s*$`)
	dependsAny = regexp.MustCompile(`^\s*[\w-]+(\.Succeeded)?(\s*\|\|\s*[\w-]+(\.Succeeded)?)*\s*$`)
	dependsOn  = regexp.MustCompile(`([A-Za-z0-9][\w-]*)(\.(\w+))?`)
)

// dependencies reads dependencies and depends: names that must all have succeeded, or one of them. Everything else becomes all of
// the names, and is noted.
func (a *argo) dependencies(task node) ([]string, dag.Trigger) {
	if names := task.get("dependencies").texts(); len(names) > 0 {
		return names, ""
	}
	depends := task.get("depends")
	text := depends.text()
	var names []string
	for _, match := range dependsOn.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	names = unique(names)
	switch {
	case dependsAll.MatchString(text):
		return names, ""
	case dependsAny.MatchString(text):
		return names, dag.OneSuccess
	case text != "":
		trigger := dag.AllSuccess
		if strings.Contains(text, ".Failed") || strings.Contains(text, ".Errored") || strings.Contains(text, "!") {
			trigger = dag.AllDone
		}
		a.note(depends.line(), "%s: depends of %s became needs with trigger: %s; it was: %s", a.name, task.get("name").text(), trigger, text)
		return names, trigger
	}
	return nil, ""
}

func unique(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
