package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

// FavouritePath names a job or a DAG that a user may star.
type FavouritePath struct {
	InNamespace
	Kind string `path:"kind" enum:"job,dag" doc:"What it is"`
	Name string `path:"name" doc:"Its name" example:"nightly-report"`
}

func (a *API) favourites() {
	register(a, huma.Operation{
		OperationID: "list-favourites", Method: http.MethodGet, Path: "/favourites", Tags: []string{"profile"},
		Summary: "List your favourites", Description: "The jobs and DAGs of a namespace that you have starred: pages show them first.",
	}, func(ctx context.Context, in *InNamespace) (*pageAnswer[wire.Favourite], error) {
		starred, err := a.service.Favourites(ctx, in.Namespace)
		if err != nil {
			return nil, err
		}
		items := make([]wire.Favourite, len(starred))
		for i, one := range starred {
			items[i] = wire.Favourite{Kind: one.Kind, Name: one.Name}
		}
		return answerPage(items, ""), nil
	})
	for _, one := range []struct {
		on                  bool
		id, method, summary string
	}{{true, "add-favourite", http.MethodPut, "Star a job or a DAG"}, {false, "remove-favourite", http.MethodDelete, "Take a star away"}} {
		register(a, huma.Operation{
			OperationID: one.id, Method: one.method, Path: "/favourites/{kind}/{name}", Tags: []string{"profile"},
			Summary: one.summary, Description: "For you alone; to ask twice is to ask once.", DefaultStatus: http.StatusNoContent,
		}, func(ctx context.Context, in *FavouritePath) (*nothing, error) {
			return &nothing{}, a.service.Favour(ctx, in.Namespace, service.Favourite{Kind: in.Kind, Name: in.Name}, one.on)
		})
	}
}

func (a *API) profile() {
	type answer struct{ Body wire.Profile }
	register(a, huma.Operation{
		OperationID: "get-profile", Method: http.MethodGet, Path: "/profile", Tags: []string{"profile"},
		Summary: "Read your profile", Description: "How you want pages to be, on any machine.",
	}, func(ctx context.Context, _ *struct{}) (*answer, error) {
		profile, err := a.service.Profile(ctx)
		return &answer{Body: wire.Profile{Zone: profile.Zone, Theme: profile.Theme}}, err
	})
	register(a, huma.Operation{
		OperationID: "set-profile", Method: http.MethodPut, Path: "/profile", Tags: []string{"profile"},
		Summary: "Change your profile", Description: "Both values; what is empty is that of the browser.",
	}, func(ctx context.Context, in *answer) (*answer, error) {
		profile, err := a.service.SetProfile(ctx, func(profile *service.Profile) { profile.Zone, profile.Theme = in.Body.Zone, in.Body.Theme })
		return &answer{Body: wire.Profile{Zone: profile.Zone, Theme: profile.Theme}}, err
	})
}
