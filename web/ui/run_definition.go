package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// hiddenValue stands for a value that looks like a secret.
const hiddenValue = "hidden (looks like a secret)"

// viewDefinition is what a run executes, as it was when the run was made.
func viewDefinition(run *engine.Run, definition *engine.Generation, known bool) *templates.RunDefinition {
	view := &templates.RunDefinition{Generation: run.Generation, Link: templates.OwnerHref(run.Job), Of: "job"}
	if run.DAG != "" {
		view.Link, view.Of = templates.OwnerHref(run.DAG+"/"), "DAG"
	}
	switch {
	case known:
	case run.Generation == 0:
		view.Missing = "The engine has not started this run yet; its definition is chosen then."
		return view
	default:
		view.Missing = "This generation of the definition is not kept any more."
		return view
	}
	job := &definition.Spec
	view.Args = job.Args
	view.Facts = definitionFacts(job)
	view.Env = viewEnvironment(job)
	for _, name := range slices.Sorted(maps.Keys(job.Labels)) {
		view.Labels = append(view.Labels, templates.Fact{Name: name, Value: job.Labels[name]})
	}
	return view
}

func definitionFacts(job *spec.Job) (facts []templates.Fact) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, templates.Fact{Name: name, Value: value})
		}
	}
	span := func(d spec.Duration) string {
		if d == 0 {
			return ""
		}
		return time.Duration(d).String()
	}
	add("Description", job.Description)
	add("Interpreter", job.Interpreter)
	add("Timeout", span(job.Timeout))
	if tries := job.Retry.MaxAttempts; tries > 1 {
		add("Attempts", fmt.Sprintf("up to %d, %v to %v apart", tries, time.Duration(job.Retry.Delay), time.Duration(job.Retry.MaxDelay)))
	} else {
		add("Attempts", "1")
	}
	add("Retry on exit codes", exitCodes(job.Retry.On))
	add("Never retry on exit codes", exitCodes(job.Retry.NotOn))
	add("Overlap", string(job.Overlap))
	add("Delivery", strings.ReplaceAll(string(job.Delivery), "_", " "))
	if job.Stderr == spec.StderrMarked {
		add("Standard error", "marked")
	}
	var limits []string
	if job.Limits.Memory > 0 {
		limits = append(limits, fmt.Sprintf("memory %v", job.Limits.Memory))
	}
	if job.Limits.CPU > 0 {
		limits = append(limits, fmt.Sprintf("CPU %v cores", job.Limits.CPU))
	}
	if job.Limits.Output > 0 {
		limits = append(limits, fmt.Sprintf("output %v", job.Limits.Output))
	}
	add("Limits", strings.Join(limits, ", "))
	return facts
}

func exitCodes(codes []int) string {
	if len(codes) == 0 {
		return ""
	}
	return "exit " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(codes)), ", "), "[]")
}

// viewEnvironment is a definition's environment by name, without what looks secret. Secrets are named, never shown.
func viewEnvironment(job *spec.Job) (variables []templates.EnvironmentVariable) {
	for name, value := range job.Env {
		variable := templates.EnvironmentVariable{Name: name, Value: value}
		if service.LooksSecret(name, value) {
			variable.Value, variable.Hidden = "", hiddenValue
		}
		variables = append(variables, variable)
	}
	for name, secret := range job.Secrets {
		variables = append(variables, templates.EnvironmentVariable{Name: name, Hidden: "the secret " + secret})
	}
	slices.SortFunc(variables, func(a, b templates.EnvironmentVariable) int { return strings.Compare(a.Name, b.Name) })
	return variables
}
