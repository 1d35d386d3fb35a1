package importer

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// defaultBackoffLimit is how often Kubernetes tries a Job again that says nothing about it.
const defaultBackoffLimit = 6

// Kubernetes reads CronJobs (batch/v1, batch/v1beta1), in one or more documents or lists. Error: it is not YAML.
func Kubernetes(text string) (Result, error) {
	found, err := documents(text)
	if err != nil {
		return Result{}, err
	}
	b := newBuilder()
	for _, document := range found {
		if kind := document.get("kind").text(); kind != "CronJob" {
			b.note(document.line(), "kind %q is no CronJob, and is left out", kind)
			continue
		}
		b.cronJob(document)
	}
	return b.finish(), nil
}

func (b *builder) cronJob(n node) {
	cron := n.get("spec")
	template := cron.get("jobTemplate", "spec")
	pod := template.get("template", "spec")
	name := n.get("metadata", "name").text()
	containers := pod.get("containers").list()
	if len(containers) == 0 {
		b.note(n.line(), "%s has no container, and is left out", name)
		return
	}
	for _, other := range containers[1:] {
		b.note(other.line(), "%s: only the first container is taken; container %s is left out", name, other.get("name").text())
	}
	for _, initial := range pod.get("initContainers").list() {
		b.note(initial.line(), "%s: init container %s is left out: make a DAG with it as the first task", name, initial.get("name").text())
	}
	p := b.container(containers[0], func(text string) string { return text })
	schedule, zone := zoned(cron.get("schedule").text(), cron.get("timeZone").text())
	tries := defaultBackoffLimit
	if limit, ok := template.get("backoffLimit").number(); ok {
		tries = limit
	}
	job := &spec.Job{
		Name: name, Binary: ShellName, Args: p.args, Env: p.env, Secrets: p.secrets, Limits: p.limits,
		Schedule: spec.Strings{schedule}, Timezone: zone, Overlap: overlapOf(cron), CatchUp: catchUpOf(cron),
		Retry: spec.Retry{MaxAttempts: tries + 1}, Timeout: template.get("activeDeadlineSeconds").seconds(),
		Grace: pod.get("terminationGracePeriodSeconds").seconds(), Labels: b.labels(n.get("metadata", "labels")),
		RunsOn: b.labels(pod.get("nodeSelector")),
	}
	b.suspended(cron, "job", name)
	if namespace := n.get("metadata", "namespace").text(); namespace != "" && namespace != "default" {
		b.note(n.get("metadata", "namespace").line(), "%s is of namespace %s: apply it with -n %s", name, namespace, namespace)
	}
	if line := template.get("activeDeadlineSeconds").line(); line > 0 && tries > 0 {
		b.note(line, "%s: activeDeadlineSeconds bounds all attempts together, timeout bounds each", name)
	}
	b.unmapped(cron, name+": ", "schedule", "timeZone", "suspend", "concurrencyPolicy", "startingDeadlineSeconds", "jobTemplate",
		"successfulJobsHistoryLimit", "failedJobsHistoryLimit")
	b.unmapped(template, name+": ", "template", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
	b.unmapped(pod, name+": pod: ", "containers", "initContainers", "restartPolicy", "terminationGracePeriodSeconds", "nodeSelector",
		"dnsPolicy", "schedulerName", "securityContext")
	job.Retention = b.historyOf(cron)
	job.Retention.Age = b.keptFor(template.get("ttlSecondsAfterFinished"), name+": ttlSecondsAfterFinished", time.Second)
	b.job(n.line(), job)
}
