package ui

import (
	"context"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// definitionPages are the pages that jobs and DAGs have alike.
type definitionPages[S engine.Spec] struct {
	*UI
	service *service.Definitions[S]
	kind    *templates.Kind
	removed service.Removed // what a deletion deletes

	note string // beside the list of generations
	// head fills in what the kinds say each in its own way: the rhythm, the description, the payload, the arguments.
	head func(*engine.Definition[S], *templates.Head)
	zone func(*engine.Definition[S]) *time.Location // of a range that is typed
	// start starts a run or a wave, and returns its page and the notice there.
	start func(ctx context.Context, namespace, name string, how service.Start) (at, notice string, err error)
	// backfill makes runs, or waves, of past slots, or returns which it would make.
	backfill func(ctx context.Context, definition *engine.Definition[S], asked backfillRange) (backfillPlan, error)
	// backfilled is the notice after that.
	backfilled string
	// calendar is that of the slots of the root that a request chooses; nil where there are none.
	calendar func(c echo.Context, definition *engine.Definition[S]) *slotCalendar

	// What the list is narrowed to, and what the kinds say each in its own way of an entry.
	states, tiers []templates.Option
	row           func(*service.Entry[S], *templates.DefinitionRow)

	// What the form needs: the text that a new definition begins with, in which NAME is a program and BINARY what to run of it, and of how many schedules
	// how many slots are shown while it is typed.
	least                  string
	schedules, slotsOfEach int
	of                     func(*spec.Document) *S // nil for one of the other kind
	nameOf                 func(*S) *string
	labels                 func(*S) *map[string]string
	isLarge                func(*S) bool
}

func (u *UI) jobPages() *definitionPages[spec.Job] {
	return &definitionPages[spec.Job]{
		UI: u, service: u.service.Jobs, kind: templates.KindJob, removed: service.RemovedJobs,
		note: "the forms it has had, the newest first", head: jobHead, zone: zoneOf, start: u.startJob,
		backfill: u.backfillJob, backfilled: "backfilled", calendar: jobCalendar,
		states: jobStates, tiers: jobTiers, row: jobRow,
		least:     "kind: Job\nname: NAME-job\nbinary: BINARY\nschedule: \"*/5 * * * *\"   # every five minutes\ntimeout: 1m\n",
		schedules: 1, slotsOfEach: 10,
		of:      func(document *spec.Document) *spec.Job { return document.Job },
		nameOf:  func(job *spec.Job) *string { return &job.Name },
		labels:  func(job *spec.Job) *map[string]string { return &job.Labels },
		isLarge: func(*spec.Job) bool { return false },
	}
}

func (u *UI) dagPages() *definitionPages[spec.DAG] {
	return &definitionPages[spec.DAG]{
		UI: u, service: u.service.DAGs, kind: templates.KindDAG, removed: service.RemovedDAGs,
		note: "the forms it has had, the newest first; a wave ends on the one it began with", head: dagHead, zone: dagZone, start: u.startDAG,
		backfill: u.backfillDAG, backfilled: "waves-asked", calendar: dagCalendar,
		states: dagStates, row: dagRow,
		least:     "kind: DAG\nname: my-dag\nschedule: \"0 3 * * *\"   # every night\n\ntasks:\n  first: {binary: BINARY}\n",
		schedules: 6, slotsOfEach: 5,
		of:      func(document *spec.Document) *spec.DAG { return document.DAG },
		nameOf:  func(dag *spec.DAG) *string { return &dag.Name },
		labels:  func(dag *spec.DAG) *map[string]string { return &dag.Labels },
		isLarge: isLarge,
	}
}

// register adds the pages.
func (p *definitionPages[S]) register(router Router) {
	router.GET(p.kind.Address(""), p.list)
	p.registerMany(router)
	at := p.kind.Address("/new")
	router.GET(at, p.newForm)
	router.POST(at, p.save)
	router.POST(at+"/check", p.checkText)
	at = p.kind.Address("/:name")
	router.GET(at+"/edit", p.editForm)
	router.POST(at+"/edit", p.save)
	router.POST(at+"/edit/check", p.checkText)
	router.GET(at+"/slots", p.slots)
	router.GET(at+"/definition", p.definition)
	router.POST(at+"/restore", p.restore)
	router.GET(at+"/backfill", p.backfillPlan)
	router.POST(at+"/backfill", p.backfillRun)
	router.GET(at+"/run", p.runForm)
	router.POST(at+"/run", p.run)
	router.GET(at+"/pause", p.pauseForm)
	router.POST(at+"/pause", p.pause)
	router.POST(at+"/resume", p.resume)
	router.POST(at+"/favourite", p.favour)
	router.GET(at+"/delete", p.deleteForm)
	router.POST(at+"/delete", p.delete)
}

// read reads the definition that the address names.
func (p *definitionPages[S]) read(c echo.Context) (engine.Definition[S], error) {
	ctx := c.Request().Context()
	return p.service.Get(ctx, namespaceOf(ctx), c.Param("name"))
}

// page makes the frame of one of a definition's pages, and what stands at its head.
func (p *definitionPages[S]) page(c echo.Context, d *engine.Definition[S], tab templates.Tab) (templates.Page, templates.Head) {
	aboutZone(c, p.zone(d))
	page := p.UI.page(c, p.kind.Section, d.Name)
	page.Trail = []templates.Crumb{{Name: p.kind.Title, Href: p.kind.Address("")}, {Name: d.Name}}
	head := templates.Head{
		Kind: p.kind, Name: d.Name, Tab: tab,
		Paused: d.Paused, PausedAt: d.PausedAt, PausedBy: d.PausedBy, PausedReason: readable([]byte(d.PausedReason)),
		// The same for a page, another for the next: pressing the button twice asks for one run, or one wave.
		RunKey: "page-" + strconv.FormatInt(page.Now.UnixNano(), 36),
	}
	if starred, err := p.UI.service.FavouriteNames(c.Request().Context(), d.Namespace, p.kind.ID()); err == nil { // the page is worth more than its star
		head.Starred = starred[d.Name]
	}
	p.head(d, &head)
	return page, head
}

func jobHead(job *engine.Job, head *templates.Head) {
	head.Description, head.Payload = readable([]byte(job.Spec.Description)), indented(job.Spec.Payload)
	head.Rhythm = "Runs " + scheduleWords(job) + "."
	if job.Spec.Manual() {
		head.Rhythm = "Runs manually only."
		if job.Spec.Triggers.Starts() {
			head.Rhythm = "Runs when an event triggers it, or manually."
		}
	}
}

func dagHead(dag *engine.DAG, head *templates.Head) {
	head.Description, head.Payload = readable([]byte(dag.Spec.Description)), indented(dag.Spec.Payload)
	head.Rhythm = rhythm(&dag.Spec)
	for _, name := range sortedKeys(dag.Spec.Args) {
		head.Args += name + "=" + dag.Spec.Args[name] + "\n"
	}
}

// zoneOf is the zone of a job's schedule, UTC where it has none.
func zoneOf(job *engine.Job) *time.Location {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return time.UTC
	}
	return schedule.Location()
}

// dagZone is the zone that a range is read in: the DAG's, UTC where it has none.
func dagZone(dag *engine.DAG) *time.Location {
	zone, err := time.LoadLocation(dag.Spec.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}
