package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
)

// MemberPath names a user in a namespace.
type MemberPath struct {
	NamespacePath
	User string `path:"user" maxLength:"64" doc:"The user's name" example:"ada"`
}

func (a *API) members() {
	register(a, huma.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/namespaces/{name}/members", Tags: []string{"namespaces"},
		Summary: "List who has a role in a namespace", Description: "By name, with those whose role is for all namespaces.",
	}, func(ctx context.Context, in *NamespacePath) (*pageAnswer[wire.Member], error) {
		members, err := a.service.Members(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		var items []wire.Member
		for i := range members {
			items = append(items, viewMember(&members[i]))
		}
		return answerPage(items, ""), nil
	})
	register(a, huma.Operation{
		OperationID: "set-member", Method: http.MethodPut, Path: "/namespaces/{name}/members/{user}", Tags: []string{"namespaces"},
		Summary: "Give a user a role in a namespace",
	}, func(ctx context.Context, in *struct {
		MemberPath
		Body wire.MemberRole
	}) (*struct{ Body wire.Member }, error) {
		member, err := a.service.SetMember(ctx, in.Name, in.User, in.Body.Role)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.Member }{viewMember(&member)}, nil
	})
	register(a, huma.Operation{
		OperationID: "remove-member", Method: http.MethodDelete, Path: "/namespaces/{name}/members/{user}", Tags: []string{"namespaces"},
		Summary: "Take a user's role in a namespace away",
	}, func(ctx context.Context, in *MemberPath) (*nothing, error) {
		return &nothing{}, a.service.RemoveMember(ctx, in.Name, in.User)
	})
}

func viewMember(m *access.Member) wire.Member {
	return wire.Member{User: m.User, Role: m.Role.String(), AllNamespaces: m.All}
}
