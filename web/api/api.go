package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// Prefix is where the API lies.
const Prefix = "/api/v1"

// Config is what an API may be given besides the service.
type Config struct {
	Version string
	Log     *slog.Logger
	// RequestID returns the id that a fault is logged under; nil where there are none.
	RequestID func(context.Context) string
	// Patience is how long a client may take nothing of a stream before it is given up; default 1 minute.
	Patience time.Duration
	// Now is the clock of "an hour ago" in queries; nil is time.Now.
	Now func() time.Time
}

// API serves the REST API. It is safe for concurrent use.
type API struct {
	service *service.Service
	config  Config
	huma    huma.API
}

// New makes the API and registers its routes.
func New(e *echo.Echo, s *service.Service, config Config) (*API, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.RequestID == nil {
		config.RequestID = func(context.Context) string { return "" }
	}
	if config.Patience <= 0 {
		config.Patience = patience
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	a := &API{service: s, config: config}
	a.huma = humaecho.New(e, a.describe())
	a.huma.UseMiddleware(unescape, a.refuseUnknownQuery, a.refuseIdleKey)

	a.jobs()
	a.dags()
	a.waves()
	a.runs()
	a.binaries()
	a.cluster()
	a.documents()
	a.secrets()
	a.notifications()
	a.hook()
	a.namespaces()
	a.members()
	a.users()
	a.tokens()
	a.sessions()
	a.favourites()
	a.profile()
	return a, a.document()
}

func (a *API) jobs() {
	a.jobRoutes().register()
	a.jobList()
	a.jobRun()
	a.jobBackfill()
	a.jobSlots()
	a.jobNext()
	a.jobStatistics()
	a.jobCalendar()
	a.oneOff()
}

func (a *API) dags() {
	a.dagRoutes().register()
	a.dagList()
	a.dagRun()
	a.dagBackfill()
	a.dagSlots()
	a.dagNext()
	a.dagCalendar()
	a.dagGraph()
}

func (a *API) waves() {
	a.waveList()
	a.waveGet()
	a.waveCancel()
	a.waveResume()
	a.waveMark()
	a.waveClear()
}

func (a *API) runs() {
	a.runList()
	a.timeline()
	a.collisions()
	a.runGet()
	a.runCancel()
	a.runRetry()
	a.runLogs()
	a.runArtifacts()
	a.runArtifact()
	a.runSearch()
	a.outputSearch()
	a.runDiff()
	a.runEffects()
	a.deadLetterList()
	a.deadLetterGet()
	a.deadLetterReplay()
	a.deadLetterDelete()
	a.deadLettersReplay()
	a.deadLettersPurge()
	a.effectOpen()
	a.effectClose()
}

func (a *API) binaries() {
	a.binaryList()
	a.binaryGet()
	a.binaryDelete()
	a.binaryUpload()
	a.binaryContent()
	a.binaryDiff()
	a.binaryAlias()
	a.binaryRollback()
	a.binaryCheck()
}

func (a *API) cluster() {
	a.executorList()
	a.executorDrain()
	a.executorResume()
	a.enrolment()
	a.engineList()
	a.clockCheck()
	a.queueList()
	a.scaling()
	a.streamList()
	a.ledgerCheck()
	a.events()
	a.version()
	a.backupGet()
	a.auditList()
	a.auditVerify()
}

func (a *API) documents() {
	a.apply()
	a.validate()
	a.schedulePreview()
}

// unescape gives the parts of a path as they were meant: echo leaves them as they came where one holds an escaped '/'.
func unescape(ctx huma.Context, next func(huma.Context)) {
	if humaecho.Unwrap(ctx).Request().URL.RawPath != "" {
		ctx = unescaped{ctx}
	}
	next(ctx)
}

// request is huma.Context under a name that does not hide its method Context where it is embedded.
type request huma.Context

type unescaped struct{ request }

func (u unescaped) Param(name string) string {
	raw := u.request.Param(name)
	if plain, err := url.PathUnescape(raw); err == nil {
		return plain
	}
	return raw
}

// Unwrap lets humaecho find its own.
func (u unescaped) Unwrap() huma.Context { return u.request }

// MaxBody is the largest body that is not a program or a set of files, in bytes.
const MaxBody = spec.MaxFile

// register adds an operation whose errors, whatever they are, are answered as problems.
func register[I, O any](a *API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	op.Path = Prefix + op.Path
	registerAt(a, op, handler)
}

func registerAt[I, O any](a *API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = MaxBody + 1 // huma refuses what is as long as this
	}
	op.BodyReadTimeout = -1 // the server below sees to it, for all bodies alike
	if op.Security == nil {
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	}
	huma.Register(a.huma, op, func(ctx context.Context, input *I) (*O, error) {
		output, err := handler(ctx, input)
		if err != nil {
			return nil, a.answerTo(ctx, err)
		}
		return output, nil
	})
}

// InNamespace is the part of every request that says whose things it is about. It is exported, as are Page and
// Content, because huma reads the tags of embedded structs only then.
type InNamespace struct {
	Namespace string `query:"namespace" default:"default" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9_-]*$" doc:"The namespace"`
}

// Page is the part of a list's request that says which page.
type Page struct {
	Cursor string `query:"cursor" doc:"The next of the page before; absent for the first page"`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"The most entries of a page"`
}

// nothing is the answer that says it is done.
type nothing struct{}

func statusOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// pageAnswer is one page of a list.
type pageAnswer[T any] struct {
	Body wire.List[T]
}

func answerPage[T any](items []T, next string) *pageAnswer[T] {
	if items == nil {
		items = []T{}
	}
	return &pageAnswer[T]{Body: wire.List[T]{Items: items, Next: next}}
}
