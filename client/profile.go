package client

import (
	"context"
	"net/http"

	"github.com/tidewheel/tidewheel/client/wire"
)

// LabelJob changes the labels of a job.
func (c *Client) LabelJob(ctx context.Context, name string, change wire.LabelChange) (wire.Job, error) {
	return ask[wire.Job](ctx, c, call{method: http.MethodPost, path: jobsPath + path(name, "labels"), value: change})
}

// LabelDAG changes the labels of a DAG.
func (c *Client) LabelDAG(ctx context.Context, name string, change wire.LabelChange) (wire.DAG, error) {
	return ask[wire.DAG](ctx, c, call{method: http.MethodPost, path: dagsPath + path(name, "labels"), value: change})
}

// Favourites lists the jobs and DAGs that the client's user has starred.
func (c *Client) Favourites(ctx context.Context) (wire.List[wire.Favourite], error) {
	return ask[wire.List[wire.Favourite]](ctx, c, call{method: http.MethodGet, path: prefix + "/favourites"})
}

// SetFavourite stars a job or a DAG for the client's user, or takes the star away.
func (c *Client) SetFavourite(ctx context.Context, one wire.Favourite, on bool) error {
	method := http.MethodDelete
	if on {
		method = http.MethodPut
	}
	_, err := ask[struct{}](ctx, c, call{method: method, path: prefix + "/favourites" + path(one.Kind, one.Name)})
	return err
}
