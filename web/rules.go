package web

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
)

// scope is what an identity must show for a route.
type scope uint8

const (
	toNobody        scope = iota // there is no such route
	toAll                        // nothing
	toPrograms                   // a run token
	toCollectors                 // a token for metrics, or the role for all namespaces
	toAnyIdentity                // any credentials, with whatever roles
	inTheNamespace               // the role in the namespace of the request
	inTheNamedOne                // the role in the namespace that the path names
	inAnyNamespace               // the role in one namespace at least
	inAllNamespaces              // the role for all namespaces: what belongs to none
)

// rule says who may use a route.
type rule struct {
	scope scope
	least access.Role
	// quiet changes nothing that others see, although it is no GET; loud is put into the audit log although it is one, because it
	// gives away all that is kept.
	quiet, loud bool
	// all lets the installation as a whole stand in the place of the namespace, as access.Everywhere: it needs the role for all.
	all bool
}

var (
	public   = rule{scope: toAll}
	program  = rule{scope: toPrograms, quiet: true} // programs record their effects themselves
	metrics  = rule{scope: toCollectors, least: access.Viewer}
	signedIn = rule{scope: toAnyIdentity}

	viewer   = rule{scope: inTheNamespace, least: access.Viewer}
	operator = rule{scope: inTheNamespace, least: access.Operator}
	editor   = rule{scope: inTheNamespace, least: access.Editor}
	admin    = rule{scope: inTheNamespace, least: access.Admin}

	namedViewer = rule{scope: inTheNamedOne, least: access.Viewer}
	namedAdmin  = rule{scope: inTheNamedOne, least: access.Admin}

	anyViewer    = rule{scope: inAnyNamespace, least: access.Viewer}
	rootViewer   = rule{scope: inAllNamespaces, least: access.Viewer}
	rootOperator = rule{scope: inAllNamespaces, least: access.Operator}
	rootAdmin    = rule{scope: inAllNamespaces, least: access.Admin}
)

// unrecorded is for routes that change nothing that others see: what a reader sets for themselves, checks and previews.
func (r rule) unrecorded() rule { r.quiet = true; return r }

// orAll is for routes that are about a namespace, or about what belongs to none.
func (r rule) orAll() rule { r.all = true; return r }

// recorded is for routes that only read, and are recorded like a change; and for changes by users who were unknown before, where they are
// done.
func (r rule) recorded() rule { r.loud = true; return r }

// rules has one line for each route of the server, as echo knows it. New refuses a route without one, and no request gets past
// authorize without one. testdata/roles.txt shows what follows for each role.
var rules = map[string]rule{
	"GET /favicon.ico": public,
	"GET /livez":       public,
	"GET /login":       public,
	"POST /login":      public.unrecorded(), // it records by whom, once that is known
	"GET /login/oidc":  public,
	"POST /logout":     signedIn,

	"GET /login/oidc/callback": public,

	"GET /metrics":     metrics,
	"GET /readyz":      public,
	"GET /schema.json": public,
	"GET /static/*":    public,
	"POST /v1/jobs":    editor,

	"POST /api/v1/apply": editor,

	"GET /api/v1/audit":        admin,
	"GET /api/v1/audit/verify": rootAdmin,

	"GET /api/v1/backup": rootAdmin.recorded(),

	"GET /api/v1/binaries":                           viewer,
	"DELETE /api/v1/binaries/:name":                  editor,
	"GET /api/v1/binaries/:name":                     viewer,
	"PUT /api/v1/binaries/:name/aliases/:alias":      editor,
	"GET /api/v1/binaries/:name/diff":                viewer,
	"POST /api/v1/binaries/:name/rollback":           editor,
	"POST /api/v1/binaries/:name/versions":           editor,
	"GET /api/v1/binaries/:name/versions/:n/content": viewer,

	"GET /api/v1/binary-check": editor,

	"GET /api/v1/clocks": anyViewer,

	"GET /api/v1/dags":                   viewer,
	"POST /api/v1/dags":                  editor,
	"DELETE /api/v1/dags/:name":          editor,
	"GET /api/v1/dags/:name":             viewer,
	"PUT /api/v1/dags/:name":             editor,
	"POST /api/v1/dags/:name/backfill":   operator,
	"GET /api/v1/dags/:name/calendar":    viewer,
	"GET /api/v1/dags/:name/difference":  viewer,
	"GET /api/v1/dags/:name/generations": viewer,
	"GET /api/v1/dags/:name/graph":       viewer,
	"GET /api/v1/dags/:name/next":        viewer,
	"POST /api/v1/dags/:name/labels":     editor,
	"POST /api/v1/dags/:name/pause":      operator,
	"POST /api/v1/dags/:name/restore":    editor,
	"POST /api/v1/dags/:name/resume":     operator,
	"POST /api/v1/dags/:name/run":        operator,
	"GET /api/v1/dags/:name/slots":       viewer,
	"GET /api/v1/dags/:name/waves":       viewer,

	"GET /api/v1/dead-letters":             viewer,
	"DELETE /api/v1/dead-letters/:id":      operator,
	"GET /api/v1/dead-letters/:id":         viewer,
	"POST /api/v1/dead-letters/:id/replay": operator,
	"POST /api/v1/dead-letters/purge":      operator,
	"POST /api/v1/dead-letters/replay":     operator,

	"POST /api/v1/effects/:key": program,
	"PUT /api/v1/effects/:key":  program,

	"GET /api/v1/engines": anyViewer,

	"GET /api/v1/events": viewer,

	// What executors ask for themselves is proved by a token that works once, or by a signature.
	"POST /api/v1/executor-tokens":                rootAdmin,
	"GET /api/v1/enrolled-executors":              rootAdmin,
	"POST /api/v1/enrolled-executors":             public.recorded(),
	"DELETE /api/v1/enrolled-executors/:name":     rootAdmin,
	"POST /api/v1/enrolled-executors/:name/renew": public.unrecorded(),

	"GET /api/v1/executors":             anyViewer,
	"POST /api/v1/executors/:id/drain":  rootAdmin,
	"POST /api/v1/executors/:id/resume": rootAdmin,

	// The request proves itself by its signature; see service.Hook.
	"POST /api/v1/hooks/:namespace/:name": public.recorded(),

	"GET /api/v1/jobs":                   viewer,
	"POST /api/v1/jobs":                  editor,
	"DELETE /api/v1/jobs/:name":          editor,
	"GET /api/v1/jobs/:name":             viewer,
	"PUT /api/v1/jobs/:name":             editor,
	"POST /api/v1/jobs/:name/backfill":   operator,
	"GET /api/v1/jobs/:name/calendar":    viewer,
	"GET /api/v1/jobs/:name/difference":  viewer,
	"GET /api/v1/jobs/:name/generations": viewer,
	"GET /api/v1/jobs/:name/next":        viewer,
	"POST /api/v1/jobs/:name/labels":     editor,
	"POST /api/v1/jobs/:name/pause":      operator,
	"POST /api/v1/jobs/:name/restore":    editor,
	"POST /api/v1/jobs/:name/resume":     operator,
	"POST /api/v1/jobs/:name/run":        operator,
	"GET /api/v1/jobs/:name/slots":       viewer,
	"GET /api/v1/jobs/:name/statistics":  viewer,

	"GET /api/v1/ledger-check":  rootViewer,
	"POST /api/v1/ledger-check": rootOperator,

	"GET /api/v1/namespaces":                        signedIn, // those in which the identity has a role
	"POST /api/v1/namespaces":                       rootAdmin,
	"GET /api/v1/namespaces/:name":                  namedViewer,
	"PUT /api/v1/namespaces/:name":                  namedAdmin,
	"DELETE /api/v1/namespaces/:name":               rootAdmin,
	"GET /api/v1/namespaces/:name/members":          namedAdmin,
	"PUT /api/v1/namespaces/:name/members/:user":    namedAdmin,
	"DELETE /api/v1/namespaces/:name/members/:user": namedAdmin,

	"GET /api/v1/notify/deliveries":            viewer.orAll(),
	"GET /api/v1/notify/deliveries/:id":        viewer.orAll(),
	"POST /api/v1/notify/deliveries/:id/retry": operator.orAll(),
	"GET /api/v1/notify/incidents":             viewer.orAll(),
	"GET /api/v1/notify/rules":                 viewer.orAll(),
	"PUT /api/v1/notify/rules":                 admin.orAll(),
	"GET /api/v1/notify/silences":              viewer.orAll(),
	"POST /api/v1/notify/silences":             operator.orAll(),
	"DELETE /api/v1/notify/silences/:id":       operator.orAll(),
	"GET /api/v1/notify/targets":               viewer.orAll(),
	"DELETE /api/v1/notify/targets/:name":      admin.orAll(),
	"GET /api/v1/notify/targets/:name":         viewer.orAll(),
	"PUT /api/v1/notify/targets/:name":         admin.orAll(),
	"POST /api/v1/notify/targets/:name/test":   operator.orAll(),

	"GET /api/v1/openapi.json": signedIn,

	"GET /api/v1/queues":  anyViewer,
	"GET /api/v1/scaling": anyViewer,

	"GET /api/v1/timeline":           viewer,
	"GET /api/v1/collisions":         viewer,
	"POST /api/v1/collisions/spread": editor,

	"GET /api/v1/runs":                 viewer,
	"GET /api/v1/runs/:id":             viewer,
	"GET /api/v1/runs/:id/artifacts":   viewer,
	"GET /api/v1/runs/:id/artifacts/*": viewer,
	"POST /api/v1/runs/:id/cancel":     operator,
	"GET /api/v1/runs/:id/effects":     viewer,
	"GET /api/v1/runs/:id/logs":        viewer,
	"GET /api/v1/runs/:id/logs/search": viewer,
	"POST /api/v1/runs/:id/retry":      operator,
	"GET /api/v1/runs/diff":            viewer,
	"GET /api/v1/runs/search":          viewer,

	"POST /api/v1/schedule/preview": signedIn.unrecorded(),

	"GET /api/v1/secrets":          viewer,
	"DELETE /api/v1/secrets/:name": editor,
	"GET /api/v1/secrets/:name":    viewer,
	"PUT /api/v1/secrets/:name":    editor,

	"POST /api/v1/secrets-key/rotate": rootAdmin,

	// What is a user's own is the service's to decide: it is about who one is, not about roles.
	"GET /api/v1/sessions": signedIn,
	"GET /api/v1/profile":  signedIn,
	"PUT /api/v1/profile":  signedIn.unrecorded(),

	"GET /api/v1/favourites":                viewer,
	"PUT /api/v1/favourites/:kind/:name":    viewer.unrecorded(),
	"DELETE /api/v1/favourites/:kind/:name": viewer.unrecorded(),

	"DELETE /api/v1/sessions/:id": signedIn,
	"GET /api/v1/tokens":          signedIn,
	"POST /api/v1/tokens":         signedIn,
	"DELETE /api/v1/tokens/:id":   signedIn,
	"GET /api/v1/users/me":        signedIn,
	"GET /api/v1/users/:name":     signedIn,
	"PUT /api/v1/users/:name":     signedIn,
	"GET /api/v1/users":           rootAdmin,
	"POST /api/v1/users":          rootAdmin,
	"DELETE /api/v1/users/:name":  rootAdmin,
	"GET /welcome":                signedIn, // with the root token's session, until there is an admin
	"POST /welcome":               signedIn,

	"GET /api/v1/streams": anyViewer,

	"POST /api/v1/v1/jobs": editor,

	"POST /api/v1/validate": viewer.unrecorded(),

	"GET /api/v1/version": signedIn,

	"GET /api/v1/waves":             viewer,
	"GET /api/v1/waves/:id":         viewer,
	"POST /api/v1/waves/:id/cancel": operator,
	"POST /api/v1/waves/:id/clear":  operator,
	"POST /api/v1/waves/:id/mark":   operator,
	"POST /api/v1/waves/:id/resume": operator,

	"GET /audit": admin,

	"GET /binaries":                          viewer,
	"GET /binaries/:name":                    viewer,
	"GET /binaries/:name/alias":              editor,
	"GET /binaries/:name/diff":               viewer,
	"GET /binaries/:name/versions/:n":        viewer,
	"GET /binaries/:name/versions/:n/source": viewer,
	"POST /binaries/:name/alias":             editor,
	"POST /binaries/:name/delete":            editor,
	"POST /binaries/:name/rollback":          editor,
	"GET /binaries/upload":                   editor,
	"POST /binaries/upload":                  editor,

	"GET /dags":                   viewer,
	"POST /dags/delete":           editor,
	"POST /dags/pause":            operator,
	"POST /dags/labels":           editor,
	"POST /dags/:name/favourite":  viewer.unrecorded(),
	"POST /dags/resume":           operator,
	"POST /dags/run":              operator,
	"GET /dags/:name":             viewer,
	"GET /dags/:name/backfill":    operator,
	"POST /dags/:name/backfill":   operator,
	"GET /dags/:name/definition":  viewer,
	"GET /dags/:name/delete":      editor,
	"POST /dags/:name/delete":     editor,
	"GET /dags/:name/edit":        editor,
	"POST /dags/:name/edit":       editor,
	"POST /dags/:name/edit/check": editor.unrecorded(),
	"GET /dags/:name/grid":        viewer,
	"GET /dags/:name/pause":       operator,
	"POST /dags/:name/pause":      operator,
	"POST /dags/:name/restore":    editor,
	"POST /dags/:name/resume":     operator,
	"GET /dags/:name/run":         operator,
	"POST /dags/:name/run":        operator,
	"GET /dags/:name/slots":       viewer,
	"GET /dags/:name/waves":       viewer,
	"GET /dags/new":               editor,
	"POST /dags/new":              editor,
	"POST /dags/new/check":        editor.unrecorded(),

	"GET /dead-letters":         viewer,
	"GET /dead-letters/purge":   operator,
	"POST /dead-letters/purge":  operator,
	"GET /dead-letters/replay":  operator,
	"POST /dead-letters/replay": operator,

	"GET /docs":              signedIn,
	"GET /docs/*":            signedIn,
	"GET /docs/api":          signedIn,
	"GET /docs/images/:name": signedIn,

	"GET /executors":         anyViewer,
	"GET /executors/scaling": anyViewer,
	// What a user has dismissed is left out of the lists of no one else.
	"POST /attention/dismiss": viewer.unrecorded(),
	"POST /attention/recall":  viewer.unrecorded(),

	"POST /executors/:id/drain":  rootAdmin,
	"POST /executors/:id/resume": rootAdmin,

	"GET /jobs":                   viewer,
	"POST /jobs/delete":           editor,
	"POST /jobs/pause":            operator,
	"POST /jobs/labels":           editor,
	"POST /jobs/:name/favourite":  viewer.unrecorded(),
	"POST /jobs/resume":           operator,
	"POST /jobs/run":              operator,
	"GET /jobs/:name":             viewer,
	"GET /jobs/:name/backfill":    operator,
	"POST /jobs/:name/backfill":   operator,
	"GET /jobs/:name/definition":  viewer,
	"GET /jobs/:name/delete":      editor,
	"POST /jobs/:name/delete":     editor,
	"GET /jobs/:name/edit":        editor,
	"POST /jobs/:name/edit":       editor,
	"POST /jobs/:name/edit/check": editor.unrecorded(),
	"GET /jobs/:name/pause":       operator,
	"POST /jobs/:name/pause":      operator,
	"POST /jobs/:name/restore":    editor,
	"POST /jobs/:name/resume":     operator,
	"GET /jobs/:name/run":         operator,
	"POST /jobs/:name/run":        operator,
	"GET /jobs/:name/slots":       viewer,
	"GET /jobs/new":               editor,
	"POST /jobs/new":              editor,
	"POST /jobs/new/check":        editor.unrecorded(),

	"GET /namespaces":  signedIn, // those in which the identity has a role
	"POST /namespaces": rootAdmin,

	"POST /namespaces/:name/members": namedAdmin,

	"POST /namespace": signedIn.unrecorded(),

	"GET /notifications":                       viewer,
	"POST /notifications/deliveries/:id/retry": operator,
	"POST /notifications/rules":                admin,
	"POST /notifications/silences":             operator,
	"POST /notifications/silences/:id/end":     operator,
	"GET /notifications/targets/:name/delete":  admin,
	"POST /notifications/targets/:name/delete": admin,
	"GET /notifications/targets/:name/edit":    admin,
	"POST /notifications/targets/:name/edit":   admin,
	"POST /notifications/targets/:name/test":   operator,
	"GET /notifications/targets/new":           admin,
	"POST /notifications/targets/new":          admin,

	"GET /notifications/installation":                       rootAdmin,
	"POST /notifications/installation/deliveries/:id/retry": rootAdmin,
	"POST /notifications/installation/rules":                rootAdmin,
	"POST /notifications/installation/silences":             rootAdmin,
	"POST /notifications/installation/silences/:id/end":     rootAdmin,
	"GET /notifications/installation/targets/:name/delete":  rootAdmin,
	"POST /notifications/installation/targets/:name/delete": rootAdmin,
	"GET /notifications/installation/targets/:name/edit":    rootAdmin,
	"POST /notifications/installation/targets/:name/edit":   rootAdmin,
	"POST /notifications/installation/targets/:name/test":   rootAdmin,
	"GET /notifications/installation/targets/new":           rootAdmin,
	"POST /notifications/installation/targets/new":          rootAdmin,

	"GET /": viewer,

	"GET /timeline":            viewer,
	"GET /timeline/collisions": viewer,
	"POST /timeline/spread":    editor,

	"GET /runs":              viewer,
	"GET /runs/:id":          viewer,
	"POST /runs/:id/cancel":  operator,
	"POST /runs/:id/dismiss": operator,
	"GET /runs/:id/output":   viewer,
	"POST /runs/:id/retry":   operator,
	"GET /runs/diff":         viewer,
	"GET /runs/search":       viewer,

	"GET /settings/secrets":               viewer,
	"POST /settings/secrets":              editor,
	"GET /settings/secrets/:name/delete":  editor,
	"POST /settings/secrets/:name/delete": editor,

	// One's own account: the service knows whose it is.
	"GET /settings":                   signedIn,
	"POST /settings/profile":          signedIn.unrecorded(),
	"GET /settings/tokens":            signedIn,
	"GET /settings/retention":         viewer,
	"POST /settings/retention":        admin,
	"GET /settings/about":             viewer,
	"POST /settings/password":         signedIn,
	"POST /settings/sessions/:id/end": signedIn,
	"POST /settings/sessions/end":     signedIn,
	"POST /settings/tokens":           signedIn,

	"POST /settings/tokens/:id/revoke": signedIn,

	"POST /theme": signedIn.unrecorded(),
	"POST /zone":  signedIn.unrecorded(),

	"GET /users":                          rootAdmin,
	"POST /users":                         rootAdmin,
	"GET /users/:name":                    rootAdmin,
	"POST /users/:name/delete":            rootAdmin,
	"POST /users/:name/disable":           rootAdmin,
	"POST /users/:name/enable":            rootAdmin,
	"POST /users/:name/password":          rootAdmin,
	"POST /users/:name/role":              rootAdmin,
	"POST /users/:name/sessions/:id/end":  rootAdmin,
	"POST /users/:name/tokens/:id/revoke": rootAdmin,

	"GET /ui/kit":       signedIn,
	"GET /undo/:id":     viewer,
	"POST /undo/:id":    operator,
	"GET /ui/search":    viewer,
	"GET /ui/shortcuts": signedIn,

	"GET /waves/:id":         viewer,
	"POST /waves/:id/cancel": operator,
	"GET /waves/:id/clear":   operator,
	"GET /waves/:id/mark":    operator,
	"GET /waves/:id/task":    viewer,
	"POST /waves/:id/clear":  operator,
	"POST /waves/:id/mark":   operator,
	"POST /waves/:id/resume": operator,
}

// ruleOf returns the rule of the route that a request was given to: the zero rule, which admits no request, if there is no such route.
func ruleOf(c echo.Context) rule { return rules[c.Request().Method+" "+c.Path()] }

// checkRules refuses routes that have no rule.
func checkRules(routes []*echo.Route) error {
	var missing []string
	for _, route := range routes {
		if _, is := rules[route.Method+" "+route.Path]; !is && route.Method != echo.RouteNotFound {
			missing = append(missing, route.Method+" "+route.Path)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("no rule says who may use %s: %w", strings.Join(missing, ", "), errNoRule)
}

var errNoRule = errors.New("add a line to rules in web/rules.go")
