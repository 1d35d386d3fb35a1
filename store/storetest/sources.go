package storetest

import (
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Sources that a store might change on the way.
var sources = []string{
	"# why: «so» 世界 🌊\r\nkind: Job\nname: report\n\n\n# the end, without a line break",
	"\t \n\u2028\"'\\$a.b: {$set: 1}\n",
	strings.Repeat("# 0123456789 ä\n", spec.MaxSource/16),
}

var sourcePromises = []promise{
	{"the source of a job comes back byte by byte, and lists leave it out", func(h *harness) {
		job := aJob("report")
		job.Source = sources[0]
		h.createJob(job)
		for _, source := range sources[1:] {
			job = edit(job, "again")
			job.Source = source
			h.replaceJob(job)
		}
		same(h.T, "job", h.job("report"), job)
		listed := job
		listed.Source = ""
		jobs, _, err := h.store.Jobs().List(h.ctx, engine.DefinitionFilter{Namespace: namespace, Limit: 10})
		h.must("list", err)
		same(h.T, "listed", jobs, []engine.Job{listed})
		jobs, err = h.store.JobsByUID(h.ctx, []string{job.UID})
		h.must("read by uid", err)
		same(h.T, "by uid", jobs, []engine.Job{listed})
		h.pending(listed)
		generations, err := h.store.Jobs().Generations(h.ctx, job.UID, 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), len(sources))
		for i := range generations {
			same(h.T, "source in the list of generations", generations[i].Source, "")
		}
		for i, source := range sources {
			one, err := h.store.Generation(h.ctx, job.UID, int64(i+1))
			h.must("generation", err)
			same(h.T, "source of a generation", one.Source, source)
		}
		tomb := h.replaceJob(remove(job))
		tomb.Source = ""
		h.pending(tomb)
	}},
	{"an edit of a job's source alone is an edit of its generation", func(h *harness) {
		job := aJob("report")
		job.Source = sources[0]
		h.createJob(job)
		source := func(generation int64, want string) {
			h.Helper()
			one, err := h.store.Generation(h.ctx, job.UID, generation)
			h.must("generation", err)
			same(h.T, "source of the generation", one.Source, want)
			same(h.T, "message of the generation", one.Message, aJob("report").Message)
		}
		for _, text := range []string{sources[1], "", sources[0]} {
			job.Source = text
			job.Revision++
			h.replaceJob(job)
			same(h.T, "job", h.job("report"), job)
			source(1, text)
		}
		next := edit(job, "next")
		next.Source = sources[1]
		h.replaceJob(next)
		source(1, sources[0])
	}},
	{"the source of a DAG comes back byte by byte, and lists leave it out", func(h *harness) {
		d := aDAG("etl")
		d.Source = sources[0]
		h.createDAG(d)
		d.Source = sources[1]
		d.Revision++
		h.replaceDAG(d)
		first := d
		d = editDAG(d, "again")
		d.Source = sources[2]
		h.replaceDAG(d)
		same(h.T, "DAG", h.dag("etl"), d)
		listed := d
		listed.Source = ""
		dags, _, err := h.store.DAGs().List(h.ctx, engine.DefinitionFilter{Namespace: namespace, Limit: 10})
		h.must("list", err)
		same(h.T, "listed", dags, []engine.DAG{listed})
		generations, err := h.store.DAGs().Generations(h.ctx, d.UID, 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), 2)
		for i, want := range []engine.DAG{d, first} {
			same(h.T, "source in the list of generations", generations[i].Source, "")
			one, err := h.store.DAGGeneration(h.ctx, d.UID, want.Generation)
			h.must("generation", err)
			same(h.T, "source of a generation", one.Source, want.Source)
		}
	}},
}
