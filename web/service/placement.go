package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// placement is who may run what is of a tier and asks for labels.
type placement struct {
	alive, serving, draining int
	// slots are those of the executors that take new work, free those of them that run nothing.
	slots, free int
	// whom names who may run it: "the tier light", "gpu=true in the tier light".
	whom string
	// why says in words why no executor takes it: "no executor has gpu=true"; "" if one does.
	why string
}

// placed looks through the executors that are alive.
func placed(executors []engine.Presence, tier spec.Tier, runsOn map[string]string) placement {
	p := placement{whom: "the tier " + string(tier)}
	if len(runsOn) > 0 {
		p.whom = labelWords(runsOn, " and ") + " in " + p.whom
	}
	labelled := 0
	for i := range executors {
		e := &executors[i]
		p.alive++
		if !spec.Satisfies(e.Labels, runsOn) {
			continue
		}
		labelled++
		if !slices.Contains(e.Tiers, tier) {
			continue
		}
		p.serving++
		if e.Draining {
			p.draining++
		} else {
			p.slots += e.Slots
			p.free += max(e.Slots-len(e.Running), 0)
		}
	}
	switch {
	case p.alive == 0:
		p.why = "no executor is alive"
	case p.serving == 0 && labelled > 0 && len(runsOn) > 0:
		p.why = fmt.Sprintf("no executor with %s serves the tier %s", labelWords(runsOn, " and "), tier)
	case p.serving == 0 && len(runsOn) > 0:
		p.why = "no executor has " + lacking(executors, runsOn)
	case p.serving == 0:
		p.why = fmt.Sprintf("no executor serves the tier %s", tier)
	case p.serving == p.draining && len(runsOn) > 0:
		p.why = fmt.Sprintf("every executor with %s is draining and takes nothing new", p.whom)
	case p.serving == p.draining:
		p.why = fmt.Sprintf("every executor of %s is draining and takes nothing new", p.whom)
	}
	return p
}

// lacking returns the labels that no executor has. If each label has an executor, it returns all of them: no executor has
// them together.
func lacking(executors []engine.Presence, runsOn map[string]string) string {
	missing := make(map[string]string)
	for key, value := range runsOn {
		label := map[string]string{key: value}
		if !slices.ContainsFunc(executors, func(e engine.Presence) bool { return spec.Satisfies(e.Labels, label) }) {
			missing[key] = value
		}
	}
	if len(missing) > 0 {
		return labelWords(missing, " or ")
	}
	return labelWords(runsOn, " and ") + " together"
}

// labelWords names labels: "arch=arm64 and gpu=true".
func labelWords(labels map[string]string, last string) string {
	words := strings.Split(spec.RunsOnText(labels), ",")
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + last + words[len(words)-1]
}

// present lists the executors that are not silent, as far as is known.
func present(fleet []Executor) []engine.Presence {
	all := make([]engine.Presence, 0, len(fleet))
	for i := range fleet {
		if !fleet[i].Silent {
			all = append(all, fleet[i].Presence)
		}
	}
	return all
}

// ServedQueue is what waits in one tier and class, and who takes from it.
type ServedQueue struct {
	engine.QueueDepth
	// Serving are the executors of the tier that take new work; Busy of their Slots are taken.
	Serving, Slots, Busy int
	Unserved             string // why no executor does, in words; "" if one does
	// Served has the same for each of Pools.
	Served []ServedPool
}

// ServedPool is who takes what asks for labels.
type ServedPool struct {
	Serving, Slots, Busy int
	Unserved             string // why no executor does, in words; "" if one does
}

// ServedQueues reports what waits in each tier and class, and who takes it.
func (s *Service) ServedQueues(ctx context.Context) ([]ServedQueue, error) {
	depths, err := s.Depths(ctx)
	if err != nil {
		return nil, err
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return nil, err
	}
	streams, err := s.queue.Streams(ctx)
	if err != nil {
		return nil, err
	}
	queues := served(depths, executors)
	for i := range streams {
		if streams[i].Full() {
			unserved(queues, streams[i].Problem(s.now()))
		}
	}
	return queues, nil
}

// unserved says of all queues why no executor takes from them.
func unserved(queues []ServedQueue, why string) {
	for i := range queues {
		queues[i].Unserved = why
		for j := range queues[i].Served {
			queues[i].Served[j].Unserved = why
		}
	}
}

func served(depths []engine.QueueDepth, executors []engine.Presence) []ServedQueue {
	queues := make([]ServedQueue, 0, len(depths))
	for i := range depths {
		p := placed(executors, depths[i].Tier, nil)
		q := ServedQueue{QueueDepth: depths[i], Serving: p.serving - p.draining, Slots: p.slots, Busy: p.slots - p.free, Unserved: p.why}
		for _, pool := range depths[i].Pools {
			p := placed(executors, depths[i].Tier, pool.RunsOn)
			q.Served = append(q.Served, ServedPool{Serving: p.serving - p.draining, Slots: p.slots, Busy: p.slots - p.free, Unserved: p.why})
		}
		queues = append(queues, q)
	}
	return queues
}

// UnschedulableReason returns why no executor takes a run that waits in the queue: "no executor has gpu=true". It returns "" if an
// executor takes the run, if the run is not queued, and while the queue is unreachable.
func (s *Service) UnschedulableReason(ctx context.Context, run *engine.Run) string {
	if run.Status != engine.StatusQueued {
		return ""
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return ""
	}
	if why := placed(executors, run.Tier, run.RunsOn).why; why != "" || len(run.RunsOn) == 0 {
		return why
	}
	depths, err := s.Depths(ctx)
	if err != nil {
		return ""
	}
	return crowded(depths, run.Tier, run.RunsOn)
}

// UnschedulableReasons returns UnschedulableReason of several runs, by run ID. It asks the queue at most once, and therefore leaves out
// the reason that there are too many different sets of labels.
func (s *Service) UnschedulableReasons(ctx context.Context, runs []engine.Run) map[string]string {
	var executors []engine.Presence
	why := map[string]string{}
	for i := range runs {
		run := &runs[i]
		if run.Status != engine.StatusQueued {
			continue
		}
		if executors == nil {
			all, err := s.queue.Executors(ctx)
			if err != nil {
				return nil
			}
			executors = append(make([]engine.Presence, 0, len(all)), all...)
		}
		if words := placed(executors, run.Tier, run.RunsOn).why; words != "" {
			why[run.ID] = words
		}
	}
	return why
}

// crowded returns that too many queues are open to open one for the labels. It returns "" if it exists or can be opened.
func crowded(depths []engine.QueueDepth, tier spec.Tier, runsOn map[string]string) string {
	pools := 0
	for i := range depths {
		if depths[i].Class != spec.ClassPremium { // both classes of a tier have the same pools
			continue
		}
		pools += len(depths[i].Pools)
		for _, pool := range depths[i].Pools {
			if depths[i].Tier == tier && maps.Equal(pool.RunsOn, runsOn) {
				return ""
			}
		}
	}
	if pools < engine.MaxPools {
		return ""
	}
	return fmt.Sprintf("%d different tiers and sets of labels wait or have waited lately, and more are not kept apart", pools)
}

// Warnings returns what would delay or hide the runs of a valid definition now.
func (s *Service) Warnings(ctx context.Context, namespace string, document spec.Document) []string {
	return append(s.schedulingWarnings(ctx, document), s.unsentAlerts(ctx, namespace, document)...)
}

// schedulingWarnings returns a warning for a job, and for each task of a DAG, that needs labels that no executor has now. It is no
// error: an executor with the labels may be started later.
func (s *Service) schedulingWarnings(ctx context.Context, document spec.Document) []string {
	jobs := map[string]*spec.Job{}
	if document.DAG == nil {
		jobs[""] = document.Job
	} else {
		for i := range document.DAG.Tasks {
			jobs["task "+document.DAG.Tasks[i].Name+": "] = document.DAG.TaskJob(i)
		}
	}
	maps.DeleteFunc(jobs, func(_ string, job *spec.Job) bool { return len(job.RunsOn) == 0 })
	if len(jobs) == 0 {
		return nil
	}
	executors, err := s.queue.Executors(ctx)
	if err != nil {
		return nil // the executors are unknown, and the document is valid
	}
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		job := jobs[name].Clone()
		job.ApplyDefaults()
		if why := placed(executors, job.Tier, job.RunsOn).why; why != "" {
			warnings = append(warnings, name+why+": its runs wait until one comes")
		}
	}
	return warnings
}
