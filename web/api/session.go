package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
)

// OfUser says whose sessions a request is about.
type OfUser struct {
	User string `query:"user" maxLength:"64" doc:"Whose sessions, for admins; absent: your own"`
}

func (a *API) sessions() {
	register(a, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/sessions", Tags: []string{"sessions"},
		Summary: "List sessions", Description: "Where you are signed in, or, for admins, where a user is.",
	}, func(ctx context.Context, in *OfUser) (*pageAnswer[wire.Session], error) {
		sessions, err := a.service.Sessions(ctx, in.User)
		if err != nil {
			return nil, err
		}
		current := access.From(ctx).Session
		var items []wire.Session
		for i := range sessions {
			s := &sessions[i]
			items = append(items, wire.Session{
				ID: s.ID, User: s.Owner, Current: s.ID == current, CreatedAt: s.MadeAt, LastSeen: s.SeenAt, ExpiresAt: s.ExpiresAt,
				Address: s.Address, Agent: s.Agent,
			})
		}
		return answerPage(items, ""), nil
	})
	register(a, huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Path: "/sessions/{id}", Tags: []string{"sessions"},
		Summary: "End a session", Description: "Its cookie opens nothing from now on. Your own, or, for admins, one of a user.",
	}, func(ctx context.Context, in *struct {
		OfUser
		ID string `path:"id" maxLength:"64" doc:"The session's id"`
	}) (*nothing, error) {
		return &nothing{}, a.service.EndSession(ctx, in.User, in.ID)
	})
}
