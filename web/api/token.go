package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) tokens() {
	register(a, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/tokens", Tags: []string{"tokens"},
		Summary: "List API tokens", Description: "Your own, without what opens; all of them for admins who ask for all.",
	}, func(ctx context.Context, in *struct {
		All bool `query:"all" doc:"Those of all users"`
	}) (*pageAnswer[wire.Token], error) {
		tokens, err := a.service.Tokens(ctx, in.All)
		if err != nil {
			return nil, err
		}
		var items []wire.Token
		for i := range tokens {
			items = append(items, viewToken(&tokens[i]))
		}
		return answerPage(items, ""), nil
	})
	register(a, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/tokens", Tags: []string{"tokens"}, DefaultStatus: http.StatusCreated,
		Summary:     "Create an API token",
		Description: "It may at most what you may at the time of each request. The answer shows it, once: it is kept nowhere.",
	}, func(ctx context.Context, in *struct{ Body wire.NewToken }) (*struct{ Body wire.MadeToken }, error) {
		grants, err := grantsOf(in.Body.Grants)
		if err != nil {
			return nil, err
		}
		secret, token, err := a.service.CreateToken(ctx, access.NewToken{Name: in.Body.Name, Grants: grants, ExpiresAt: in.Body.ExpiresAt})
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.MadeToken }{wire.MadeToken{Token: secret, Detail: viewToken(&token)}}, nil
	})
	register(a, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/tokens/{id}", Tags: []string{"tokens"},
		Summary: "Revoke an API token", Description: "It opens nothing from now on. Your own; any for admins.",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" maxLength:"64" doc:"The token's id"`
	}) (*nothing, error) {
		return &nothing{}, a.service.RevokeToken(ctx, in.ID)
	})
}

func viewToken(token *access.Token) wire.Token {
	view := wire.Token{
		ID: token.ID, Name: token.Name, Owner: token.Owner, Prefix: token.Prefix,
		CreatedAt: token.CreatedAt, ExpiresAt: token.ExpiresAt, LastUsed: token.UsedAt,
	}
	if token.Grants != nil {
		view.Grants = viewGrants(token.Grants)
	}
	return view
}
