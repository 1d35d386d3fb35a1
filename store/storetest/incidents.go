package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// anIncident is one of a job; of AlertSilent it lies ahead.
func anIncident(job engine.Job, alert spec.Alert, since time.Time) engine.Incident {
	i := engine.Incident{
		ID: engine.IncidentID(job.UID, "", alert), Revision: 1, Shard: job.Shard, Namespace: job.Namespace, UID: job.UID, Job: job.Name,
		Alert: alert, Since: since, To: []string{"ops"},
	}
	if alert != spec.AlertSilent {
		i.Latest, i.Count, i.Run, i.Reason = since, 1, engine.SlotRunID(job.UID, since), "exit 3: «nichts»"
	}
	return i
}

// endedIncident fills every field of an incident that is over.
func endedIncident(i engine.Incident) engine.Incident {
	i.Revision, i.Count, i.Notified, i.Recovered = 2, 7, true, true
	i.DAG, i.Task, i.Wave, i.Slot = "etl", "fetch", "wave", i.Since.Add(-time.Minute)
	i.Latest, i.Over, i.OverRun, i.Ended = i.Since.Add(time.Hour), i.Since.Add(2*time.Hour), "run", "it succeeded"
	i.To = []string{"ops", "on-call"}
	i.Next = &engine.Incident{ID: i.ID, Shard: i.Shard, UID: i.UID, Alert: i.Alert, Since: i.Over.Add(time.Second), Count: 1, Latest: i.Over.Add(time.Second)}
	return i
}

func incidentID(i engine.Incident) string { return i.ID }

var incidentPromises = []promise{
	{"incidents of some shards are read by pages, those that lie ahead included", func(h *harness) {
		var all []engine.Incident
		for n := range 12 {
			job := aJob(numbered("job", n))
			alert := spec.AlertFailed
			if n%3 == 0 {
				alert = spec.AlertSilent
			}
			all = append(all, anIncident(job, alert, noon.Add(time.Duration(n)*time.Minute)))
		}
		h.commit(engine.Batch{Incidents: all})
		gone := all[0]
		h.commit(engine.Batch{DropIncidents: []string{gone.ID}})
		all = sorted(all[1:], incidentID)
		for _, limit := range []int{1, 5, 100} {
			var got []engine.Incident
			for after := ""; ; after = got[len(got)-1].ID {
				page, err := h.store.Incidents(h.ctx, allShards(), after, limit)
				h.must("read incidents", err)
				got = append(got, page...)
				if len(page) < limit {
					break
				}
			}
			same(h.T, fmt.Sprint("by pages of ", limit), got, all)
		}
		shard := all[3].Shard
		some, err := h.store.Incidents(h.ctx, []int{shard}, "", 100)
		h.must("read incidents", err)
		same(h.T, "of one shard", some, slices.DeleteFunc(slices.Clone(all), func(i engine.Incident) bool { return i.Shard != shard }))
		none, err := h.store.Incidents(h.ctx, nil, "", 100)
		h.must("read incidents", err)
		same(h.T, "of no shard", len(none), 0)
	}},
	{"those that have begun are listed, the latest begun first", func(h *harness) {
		var begun []engine.Incident
		for n := range 10 {
			begun = append(begun, anIncident(aJob(numbered("job", n)), spec.AlertFailed, noon.Add(-time.Duration(n/2)*time.Second)))
		}
		elsewhere := anIncident(aJob("elsewhere"), spec.AlertFailed, noon.Add(time.Hour))
		elsewhere.Namespace = "other"
		ahead := anIncident(aJob("ahead"), spec.AlertSilent, noon)
		h.commit(engine.Batch{Incidents: append([]engine.Incident{elsewhere, ahead}, begun...)})
		h.catchUp()
		slices.SortFunc(begun, func(a, b engine.Incident) int {
			if order := b.Since.Compare(a.Since); order != 0 {
				return order
			}
			return map[bool]int{true: -1, false: 1}[a.ID > b.ID]
		})
		list := func(namespace string, limit int) (got []engine.Incident) {
			h.Helper()
			for cursor := ""; ; {
				page, next, err := h.store.IncidentsPage(h.ctx, namespace, cursor, limit)
				h.must("list incidents", err)
				got = append(got, page...)
				if next == "" {
					return got
				}
				cursor = next
			}
		}
		same(h.T, "by pages of 3", list(namespace, 3), begun)
		same(h.T, "at once", list(namespace, 100), begun)
		same(h.T, "of another namespace", list("other", 4), []engine.Incident{elsewhere})
	}},
	{"an incident that is over and dropped may begin again", func(h *harness) {
		i := anIncident(aJob("report"), spec.AlertFailed, noon)
		over, again := endedIncident(i), i
		again.Since, again.Latest = noon.Add(time.Hour), noon.Add(time.Hour)
		for n, batch := range []engine.Batch{
			{Incidents: []engine.Incident{i}}, {Incidents: []engine.Incident{over}}, {DropIncidents: []string{i.ID}}, {Incidents: []engine.Incident{again}},
		} {
			h.commit(batch)
			got, err := h.store.Incidents(h.ctx, []int{i.Shard}, "", 10)
			h.must("read incidents", err)
			same(h.T, fmt.Sprint("after ", n), got, batch.Incidents)
		}
	}},
}
