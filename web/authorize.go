package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/api"
)

// recheckEvery is how long a streaming response lasts after its reader has lost the right to it.
const recheckEvery = 3 * time.Second

// errNotAllowed is for requests that no rule lets in.
var errNotAllowed = errors.New("not allowed any more")

// authorize is the only place that decides who may do what: by the rule of the route, the identity, and the namespace that the
// request is about. Streaming reads continue only while that stays true.
func (s *Server) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, rule := c.Request(), ruleOf(c)
		switch {
		case rule.scope == toNobody:
			if c.Get(echo.ContextKeyHeaderAllow) != nil { // the path is there, with other methods
				return next(c)
			}
			return echo.ErrNotFound
		case rule.scope == toAll, rule.scope == toPrograms, rule.scope == toCollectors && access.From(r.Context()).Kind == "":
			return next(c)
		}
		namespace, err := s.namespaceOfRequest(c, rule)
		c.SetRequest(r.WithContext(access.InNamespace(r.Context(), namespace)))
		if err == nil {
			err = s.decide(r.Context(), rule, namespace)
		}
		if err != nil {
			turnAwayBody(r)
			return s.refuse(c, err)
		}
		keepNamespace(c, namespace)
		if r.Method == http.MethodGet {
			defer s.whileAllowed(c, rule, namespace)()
		}
		return next(c)
	}
}

// decide returns why an identity may not use a route for a namespace; nil if it may.
func (s *Server) decide(ctx context.Context, rule rule, namespace string) error {
	identity := access.From(ctx)
	if rule.all && namespace == access.Everywhere {
		rule.scope = inAllNamespaces
	}
	switch rule.scope {
	case toAnyIdentity:
		return nil
	case inTheNamespace, inTheNamedOne:
		if err := s.config.Service.EnterNamespace(ctx, namespace); err != nil {
			return err
		}
		if !identity.May(namespace, rule.least) {
			return forbidden(fmt.Sprintf("the role %s in the namespace %s", rule.least, namespace), identity.Grants.In(namespace),
				fmt.Sprintf("an admin of the namespace gives it with `tidewheel namespace member set USER %s --namespace %s`", rule.least, namespace))
		}
		return nil
	case inAnyNamespace:
		for granted := range identity.Grants {
			if identity.May(granted, rule.least) {
				return nil
			}
		}
		return noRole()
	case inAllNamespaces, toCollectors:
		if !identity.May(access.Everywhere, rule.least) {
			return forbidden(fmt.Sprintf("the role %s for all namespaces", rule.least), identity.Grants.In(access.Everywhere),
				"it is about the whole server: ask an administrator")
		}
		return nil
	case toAll, toPrograms, toNobody:
	}
	return errNotAllowed
}

// forbidden is the answer to an identity that has another role than it needs.
func forbidden(needed string, has access.Role, how string) error {
	instead := "you have none"
	if has > 0 {
		instead = "you have the role " + has.String()
	}
	return api.NewProblem(http.StatusForbidden, "forbidden", fmt.Sprintf("this needs %s, and %s: %s", needed, instead, how))
}

// noRole is the answer to an identity without any role.
func noRole() error {
	return api.NewProblem(http.StatusForbidden, "no_role",
		"you have no role in any namespace yet: ask an administrator, who gives one with `tidewheel namespace member set`")
}

// refuse answers a request that may not be done. A part of a page is answered by loading the page again, which then says why.
func (s *Server) refuse(c echo.Context, err error) error {
	r := c.Request()
	if r.Header.Get("HX-Request") == "" || isAPI(r.URL.Path) {
		return err
	}
	problem := s.problemOf(c, err)
	c.Response().Header().Set("HX-Redirect", s.pageOf(r))
	return c.NoContent(problem.Status)
}

// whileAllowed ends the context of a request once its sender may not make it any more. The caller must call what it returns when the
// request is answered.
func (s *Server) whileAllowed(c echo.Context, rule rule, namespace string) (done func()) {
	r := c.Request()
	ctx, cancel := context.WithCancelCause(r.Context())
	c.SetRequest(r.WithContext(ctx))
	var (
		mu    sync.Mutex // held while the timer's function runs
		timer *time.Timer
	)
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(recheckEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := s.stillAllowed(r, rule, namespace); err != nil {
			cancel(fmt.Errorf("%w: %w", errNotAllowed, err))
			return
		}
		timer.Reset(recheckEvery)
	})
	return func() {
		cancel(nil)
		timer.Stop()
		mu.Lock() // it may be running
		defer mu.Unlock()
		c.SetRequest(r) // an error is answered by a context that has not ended
	}
}

// stillAllowed asks the guard and the rule again. While they cannot answer, as when the store is unavailable, an allowed response continues.
func (s *Server) stillAllowed(r *http.Request, rule rule, namespace string) error {
	identity, err := s.identify(r)
	if err == nil {
		err = s.decide(access.With(r.Context(), identity), rule, namespace)
	}
	if problem, is := api.ProblemOf(err); turnsAway(err) || is && problem.Status < http.StatusInternalServerError {
		return err
	}
	return nil
}
