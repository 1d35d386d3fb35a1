package api

import (
	"context"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func viewArtifacts(artifacts []engine.Artifact) []wire.Artifact {
	var views []wire.Artifact
	for _, a := range artifacts {
		views = append(views, wire.Artifact{Name: a.Name, Size: a.Size, SHA256: a.SHA256})
	}
	return views
}

func (a *API) runArtifacts() {
	register(a, huma.Operation{
		OperationID: "list-artifacts", Method: http.MethodGet, Path: "/runs/{id}/artifacts", Tags: []string{"runs"},
		Summary:     "List the files that a run has left",
		Description: "What its program put into $TIDEWHEEL_ARTIFACTS, in the order of the names. At most 1,000, so that there is one page.",
	}, func(ctx context.Context, in *RunPath) (*pageAnswer[wire.Artifact], error) {
		run, err := a.service.Run(ctx, in.Namespace, in.ID)
		if err != nil {
			return nil, err
		}
		return answerPage(viewArtifacts(run.Artifacts), ""), nil
	})
}

type artifactRequest struct {
	RunPath
	Name  string `path:"*" doc:"The name of the file, which may hold slashes" example:"totals/monday.csv"`
	Range string `header:"Range" doc:"One range of bytes: 206 with that part"`
}

func (a *API) runArtifact() {
	const path, described = "/runs/{id}/artifacts/*", "/runs/{id}/artifacts/{name}"
	register(a, huma.Operation{
		OperationID: "get-artifact", Method: http.MethodGet, Path: path, Tags: []string{"runs"},
		Summary: "Download a file that a run has left",
	}, a.artifact)
	// OpenAPI has no words for a parameter that spans slashes.
	paths := a.huma.OpenAPI().Paths
	paths[Prefix+described] = paths[Prefix+path]
	delete(paths, Prefix+path)
	for _, param := range a.operation(http.MethodGet, Prefix+described).Parameters {
		if param.Name == "*" {
			param.Name = "name"
		}
	}
	bytes := map[string]*huma.MediaType{"application/octet-stream": {Schema: anyBytes}}
	headers := map[string]*huma.Param{"X-Content-SHA256": {Description: "What the bytes of the whole file hash to, hex", Schema: anyText}}
	a.gives(described, "200", "The file's bytes", bytes, headers)
	a.gives(described, "206", "The part of the file that was asked for", bytes, headers)
}

func (a *API) artifact(ctx context.Context, in *artifactRequest) (*huma.StreamResponse, error) {
	found, err := a.service.Artifact(ctx, in.Namespace, in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	offset, length, status := int64(0), found.Size, http.StatusOK
	asked := int64(-1)
	if from, to, ok := oneRange(in.Range, found.Size); ok {
		if from >= found.Size {
			problem := NewProblem(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable",
				"the file has "+strconv.FormatInt(found.Size, 10)+" bytes: the range lies beyond them")
			problem.Header.Set("Content-Range", "bytes */"+strconv.FormatInt(found.Size, 10))
			return nil, problem
		}
		offset, length, status = from, to-from+1, http.StatusPartialContent
		asked = length
	}
	content, err := a.service.OpenArtifact(ctx, &found, offset, asked)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		defer content.Close()
		// Whatever it holds, a browser is to keep it and not to show it as a page of ours.
		out.SetHeader("Content-Type", "application/octet-stream")
		out.SetHeader("X-Content-Type-Options", "nosniff")
		out.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(found.Name)}))
		out.SetHeader("Content-Length", strconv.FormatInt(length, 10))
		out.SetHeader("Accept-Ranges", "bytes")
		out.SetHeader("ETag", `"sha256:`+found.SHA256+`"`)
		out.SetHeader("X-Content-SHA256", found.SHA256)
		if status == http.StatusPartialContent {
			out.SetHeader("Content-Range", "bytes "+strconv.FormatInt(offset, 10)+"-"+strconv.FormatInt(offset+length-1, 10)+"/"+strconv.FormatInt(found.Size, 10))
		}
		out.SetStatus(status)
		if written, err := io.Copy(a.patient(out), content); err != nil || written < length {
			a.streamBroke(ctx, err)
		}
	}}, nil
}
