package api

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

func (a *API) binaryContent() {
	const path = "/binaries/{name}/versions/{n}/content"
	register(a, huma.Operation{
		OperationID: "get-binary-content", Method: http.MethodGet, Path: path, Tags: []string{"binaries"},
		Summary: "Download a version",
	}, func(ctx context.Context, in *struct {
		BinaryPath
		N int `path:"n" minimum:"1" doc:"The version"`
	}) (*huma.StreamResponse, error) {
		content, version, err := a.service.BinaryContent(ctx, in.Namespace, in.Name, in.N)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(out huma.Context) {
			defer content.Close()
			out.SetHeader("Content-Type", "application/octet-stream")
			out.SetHeader("Content-Length", strconv.FormatInt(version.Size, 10))
			out.SetHeader("Content-Disposition", `attachment; filename="`+in.Name+`"`)
			out.SetHeader("ETag", `"sha256:`+version.SHA256+`"`)
			out.SetHeader("X-Content-SHA256", version.SHA256)
			out.SetStatus(http.StatusOK)
			if _, err := io.Copy(a.patient(out), content); err != nil {
				a.streamBroke(ctx, err)
			}
		}}, nil
	})
	a.gives(path, "200", "The program's bytes", map[string]*huma.MediaType{"application/octet-stream": {Schema: anyBytes}}, map[string]*huma.Param{
		"X-Content-SHA256": {Description: "What the bytes hash to, hex", Schema: anyText},
	})
}
