package ui

import (
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// viewEngineConcern says what is the matter with those who turn the shards.
func viewEngineConcern(c *service.Concern, view *templates.Concern) {
	view.Href = "/executors#engines"
	view.Cures = []templates.Cure{{Name: "See the engines", Icon: "right", Href: view.Href}}
	switch c.Kind {
	case service.ConcernNoEngine:
		view.Status, view.Title = "silent", "No engine is alive"
		view.Words = "No slot fires and no wave continues until an engine starts; it then catches up as each job's policy allows. Start one with tidewheel server --roles engine."
	case service.ConcernOwnerless:
		view.Status, view.Title = "late", templates.Plural(int64(c.Count), "shard has", "shards have")+" no engine"
		view.Words = "Jobs and DAGs of these shards stand still. An engine that is well takes them within seconds: see its log."
	case service.ConcernBehind:
		view.Status, view.Title = "late", "The store is slow"
		view.Words = "On " + c.Host + " " + c.Reason + ". They are written in the order in which they were made, and none is lost. Give the store a faster disk or network, or spread slots over time (H in a schedule)."
	default: // ConcernClocks
		view.Status, view.Title = "late", "The clocks of the nodes differ"
		view.Words = "As far as can be told from outside, " + c.Reason + ". Slots fire by the clock of the engine that has them: set the clocks by NTP."
	}
}
