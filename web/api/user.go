package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
)

// UserPath names a user.
type UserPath struct {
	Name string `path:"name" maxLength:"64" doc:"The user's name"`
}

type userAnswer struct {
	Status int
	Body   wire.User
}

func (a *API) users() {
	register(a, huma.Operation{
		OperationID: "list-users", Method: http.MethodGet, Path: "/users", Tags: []string{"users"},
		Summary: "List users", Description: "By name. For admins.",
	}, func(ctx context.Context, in *Page) (*pageAnswer[wire.User], error) {
		users, next, err := a.service.Users(ctx, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []wire.User
		for i := range users {
			items = append(items, viewUser(&users[i]))
		}
		return answerPage(items, next), nil
	})
	register(a, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/users", Tags: []string{"users"}, DefaultStatus: http.StatusCreated,
		Summary: "Create a user", Description: "With a password and, by namespace, roles. For admins.",
	}, func(ctx context.Context, in *struct{ Body wire.NewUser }) (*userAnswer, error) {
		grants, err := grantsOf(in.Body.Grants)
		if err != nil {
			return nil, err
		}
		user, err := a.service.CreateUser(ctx, in.Body.Name, in.Body.Password, grants)
		if err != nil {
			return nil, err
		}
		return &userAnswer{http.StatusCreated, viewUser(&user)}, nil
	})
	register(a, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/users/me", Tags: []string{"users"},
		Summary: "Show who you are", Description: "Whose session or token the request was made with, and what it may do.",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body wire.Identity }, error) {
		me := access.From(ctx)
		return &struct{ Body wire.Identity }{wire.Identity{
			Kind: string(me.Kind), Name: me.Name, User: me.User, Grants: viewGrants(me.Grants), Session: me.Session, Token: me.Token,
		}}, nil
	})
	register(a, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Path: "/users/{name}", Tags: []string{"users"},
		Summary: "Show a user", Description: "For the user and for admins.",
	}, func(ctx context.Context, in *UserPath) (*userAnswer, error) {
		user, err := a.service.User(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		return &userAnswer{http.StatusOK, viewUser(&user)}, nil
	})
	register(a, huma.Operation{
		OperationID: "change-user", Method: http.MethodPut, Path: "/users/{name}", Tags: []string{"users"},
		Summary: "Change a user", Description: "What is absent stays. Users change their own password; all else is for admins.",
	}, func(ctx context.Context, in *struct {
		UserPath
		Body wire.UserChange
	}) (*userAnswer, error) {
		grants, err := grantsOf(in.Body.Grants)
		if err != nil {
			return nil, err
		}
		change := access.UserChange{Password: in.Body.Password, Grants: grants, Disabled: in.Body.Disabled}
		user, err := a.service.ChangeUser(ctx, in.Name, change, in.Body.CurrentPassword)
		if err != nil {
			return nil, err
		}
		return &userAnswer{http.StatusOK, viewUser(&user)}, nil
	})
	register(a, huma.Operation{
		OperationID: "delete-user", Method: http.MethodDelete, Path: "/users/{name}", Tags: []string{"users"},
		Summary: "Delete a user", Description: "It ends their sessions and tokens. The last admin for all namespaces cannot be deleted. For admins.",
	}, func(ctx context.Context, in *UserPath) (*nothing, error) {
		return &nothing{}, a.service.DeleteUser(ctx, in.Name)
	})
}

func viewUser(user *access.User) wire.User {
	return wire.User{
		Name: user.Name, Grants: viewGrants(user.Grants), Disabled: user.Disabled, From: user.From,
		CreatedAt: user.CreatedAt, CreatedBy: user.CreatedBy, LastLogin: user.LastLogin,
	}
}

func viewGrants(grants access.Grants) map[string]string {
	view := make(map[string]string, len(grants))
	for namespace, role := range grants {
		view[namespace] = role.String()
	}
	return view
}

// grantsOf reads roles by namespace; nil stays nil.
func grantsOf(view map[string]string) (access.Grants, error) {
	if view == nil {
		return nil, nil
	}
	grants := access.Grants{}
	for namespace, name := range view {
		role, err := access.ParseRole(name)
		if err != nil {
			return nil, invalid("invalid_grants", "body.grants."+namespace, "%s", err)
		}
		grants[namespace] = role
	}
	return grants, nil
}
