package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) backupGet() {
	const path = "/backup"
	register(a, huma.Operation{
		OperationID: "get-backup", Method: http.MethodGet, Path: path, Tags: []string{"cluster"},
		Summary: "Download a backup of everything",
		Description: "A backup of one moment while the server keeps running: definitions with their history, runs, waves, the ledger, programs, artifacts and outputs. " +
			"It holds secrets: keep it where only you can read it. It is whole if `tidewheel restore` says so; an answer that breaks off is not.",
	}, func(ctx context.Context, in *struct {
		Logs bool `query:"logs" default:"true" doc:"With the outputs of runs"`
		Keys bool `query:"keys" default:"true" doc:"With the server's token and the keys of its parts"`
	}) (*huma.StreamResponse, error) {
		write, err := a.service.Backup(ctx, service.BackupParts{Logs: in.Logs, Secrets: in.Keys})
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			out.SetHeader("Content-Type", "application/zstd")
			out.SetHeader("Content-Disposition", `attachment; filename="tidewheel-`+a.config.Now().UTC().Format("20060102-150405")+`.tar.zst"`)
			out.SetHeader("Cache-Control", "no-store")
			out.SetStatus(http.StatusOK)
			if err := write(out.Context(), a.patient(out)); err != nil {
				a.streamBroke(out.Context(), err)
			}
		}}, nil
	})
	a.gives(path, "200", "A tar file, compressed with zstd", map[string]*huma.MediaType{"application/zstd": {Schema: anyBytes}}, nil)
}
