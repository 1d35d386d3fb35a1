package ui

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/static"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// Config says how the pages are to be. Zero fields take their defaults.
type Config struct {
	Version string
	// SignOut offers to end the session, where there are sessions.
	SignOut bool
	// Open warns on each page that the server asks for no credentials.
	Open bool
	// MaxBinary is the largest upload, in bytes; the pages only show it, the service enforces its own. Default 4 GiB.
	MaxBinary int64
	// PublicURL is where others reach this server; "" where that is the address that a page is read at.
	PublicURL string
	// TraceURL is where a trace is seen, with {trace} for its id; "" for nowhere.
	TraceURL string
	// Parts say what the server is made of, and Kept how long it keeps what; the first of these are runs.
	Parts []templates.Part
	Kept  []templates.Kept
	Now   func() time.Time // default time.Now
	// Patience is how long a reader may take nothing of an output; default 1 minute.
	Patience time.Duration
}

// UI serves the pages. It is safe for concurrent use.
type UI struct {
	service *service.Service
	config  Config

	reference func() (templates.Reference, error)

	large   turn
	waves   waveCache
	tallies tallies
}

// New makes the pages over a service, which stays the caller's.
func New(service *service.Service, config Config) *UI {
	if config.MaxBinary <= 0 {
		config.MaxBinary = 4 << 30
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Patience <= 0 {
		config.Patience = time.Minute
	}
	return &UI{service: service, config: config, large: newTurn()}
}

// Router is what routes are added to: an *echo.Echo or an *echo.Group.
type Router interface {
	GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	POST(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
}

// Register adds the pages and the files that they load. openAPI is the description of the API, for its page.
func (u *UI) Register(router Router, openAPI []byte) {
	u.reference = sync.OnceValues(func() (templates.Reference, error) { return readReference(openAPI) })
	router.GET(static.Prefix+"*", echo.WrapHandler(static.Handler()))
	router.GET("/favicon.ico", u.favicon)

	router.GET("/", u.overview)

	router.GET("/jobs/:name", u.jobShow)
	u.jobPages().register(router)

	u.dagPages().register(router)
	router.GET("/dags/:name", u.dagShow)
	router.GET("/dags/:name/waves", u.dagWaves)
	router.GET("/dags/:name/grid", u.dagGrid)

	router.GET("/waves/:id", u.waveShow)
	router.POST("/waves/:id/cancel", acted("/waves/", "cancelled", u.service.CancelWave))
	router.POST("/waves/:id/resume", acted("/waves/", "wave-resumed", u.service.ResumeWave))
	router.GET("/waves/:id/task", u.waveTask)
	router.GET("/waves/:id/clear", u.waveClearForm)
	router.POST("/waves/:id/clear", u.waveClear)
	router.GET("/waves/:id/mark", u.waveMarkForm)
	router.POST("/waves/:id/mark", u.waveMark)

	router.GET("/timeline", u.timeline)
	router.GET("/timeline/collisions", u.collisionList)
	router.POST("/timeline/spread", u.spread)

	router.GET("/runs", u.runList)
	router.GET("/runs/diff", u.runDiff)
	router.GET("/runs/search", u.outputSearch)
	router.GET("/runs/:id", u.runShow)
	router.GET("/runs/:id/output", u.runOutput)
	router.POST("/runs/:id/cancel", acted("/runs/", "cancelled", u.service.CancelRun))
	router.POST("/runs/:id/retry", acted("/runs/", "retried", u.service.RetryRun))
	router.POST("/runs/:id/dismiss", u.runDismiss)

	router.GET("/dead-letters", u.deadLetterList)
	router.GET("/dead-letters/replay", u.deadLettersReplayForm)
	router.POST("/dead-letters/replay", u.deadLettersReplay)
	router.GET("/dead-letters/purge", u.deadLettersPurgeForm)
	router.POST("/dead-letters/purge", u.deadLettersPurge)

	router.GET("/binaries", u.binaryList)
	router.GET("/binaries/upload", u.binaryUploadForm)
	router.POST("/binaries/upload", u.binaryUpload)
	router.GET("/binaries/:name", u.binaryShow)
	router.GET("/binaries/:name/diff", u.binaryDiff)
	router.GET("/binaries/:name/versions/:n", u.binaryVersion)
	router.GET("/binaries/:name/versions/:n/source", u.binarySource)
	router.GET("/binaries/:name/alias", u.binaryAliasPreview)
	router.POST("/binaries/:name/alias", u.binaryAlias)
	router.POST("/binaries/:name/rollback", u.binaryRollBack)
	router.POST("/binaries/:name/delete", u.binaryDelete)

	router.POST("/attention/dismiss", u.concernDismiss)
	router.POST("/attention/recall", u.concernRecall)
	router.GET("/executors", u.executorList)
	router.GET("/executors/scaling", u.scaling)
	router.POST("/executors/:id/drain", u.executorDrain)
	router.POST("/executors/:id/resume", u.executorResume)

	router.GET("/audit", u.auditList)
	router.GET("/namespaces", u.namespaceList)
	router.POST("/namespaces", u.namespaceCreate)
	router.POST("/namespaces/:name/members", u.namespaceMember)
	u.docsRoutes(router)
	u.secretRoutes(router)
	u.notificationRoutes(router)
	u.settingsRoutes(router)
	u.userRoutes(router)

	router.GET("/undo/:id", u.undoState)
	router.POST("/undo/:id", u.undo)

	router.GET("/ui/search", u.search)
	router.GET("/ui/shortcuts", u.shortcuts)

	router.GET("/ui/kit", u.kit)
	router.POST("/theme", u.themeChoose)
	router.POST("/zone", u.zoneChoose)
}

func (u *UI) now() time.Time { return u.config.Now() }

// favicon is for browsers that ask for it before they have read the page.
func (u *UI) favicon(c echo.Context) error {
	icon := static.URL("favicon.svg")
	if icon == "" {
		return echo.ErrNotFound
	}
	return c.Redirect(http.StatusFound, icon)
}

// page makes the frame of a page.
func (u *UI) page(c echo.Context, section templates.Section, title string) templates.Page {
	ctx := c.Request().Context()
	var choice []string
	if namespaces, err := u.service.Namespaces(ctx); err == nil { // a page about a store that is away has no choice
		for i := range namespaces {
			choice = append(choice, namespaces[i].Name)
		}
	}
	profile := u.profile(c)
	readerIn(c, profile.Zone)
	chosen := templates.ParseTheme(profile.Theme)
	if chosen == templates.ThemeSystem {
		chosen = theme(c)
	}
	return templates.Page{
		Title: title, Section: section, Now: u.now(), Version: u.config.Version,
		Assets:  templates.Assets{Script: static.URL("app.js"), Style: static.URL("app.css"), Icon: static.URL("favicon.svg")},
		Notice:  notices[c.QueryParam(noticeParameter)],
		Undo:    u.undoOf(c),
		SignOut: u.config.SignOut, Open: u.config.Open, User: access.From(ctx).Name,
		Theme: chosen, Zone: profile.Zone,

		Namespace: namespaceOf(ctx), Namespaces: choice,
	}
}
