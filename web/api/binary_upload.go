package api

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type uploadRequest struct {
	BinaryPath
	Content
	Keyed
	Aliases     []string `query:"alias,explode" doc:"Moved to the new version; give it more than once for several" example:"stable"`
	SHA256      string   `query:"sha256" pattern:"^[0-9a-f]{64}$" doc:"What the bytes must hash to, hex: others are refused"`
	AnyPlatform bool     `query:"any_platform" doc:"Accept a program built for another platform"`
}

type uploadAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     wire.Upload
}

func (a *API) binaryUpload() {
	const path = "/binaries/{name}/versions"
	register(a, huma.Operation{
		OperationID: "upload-binary", Method: http.MethodPost, Path: path, Tags: []string{"binaries"}, DefaultStatus: http.StatusCreated,
		Summary: "Upload a program",
		Description: "The body is the program itself, or a form whose part named file holds it; the form's fields alias, sha256 and any_platform come before it. " +
			"It is taken in pieces and kept nowhere unless it arrives whole. 201 with the new version; 200 when the bytes are those of the latest version.",
	}, a.upload)
	a.takes(http.MethodPost, path, "The program", map[string]*huma.MediaType{
		"application/octet-stream": {Schema: anyBytes},
		"multipart/form-data": {Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"file"}, Properties: map[string]*huma.Schema{
			"alias":        {Type: huma.TypeString, Description: "Moved to the new version; may come more than once"},
			"sha256":       {Type: huma.TypeString, Description: "What the bytes must hash to, hex"},
			"any_platform": {Type: huma.TypeString, Description: "true accepts a program built for another platform"},
			"file":         {Type: huma.TypeString, Format: "binary", Description: "The program; the last part"},
		}}},
	})
}

func (a *API) upload(ctx context.Context, in *uploadRequest) (*uploadAnswer, error) {
	body := in.stream()
	how := service.Upload{By: service.Actor(ctx), Aliases: split(in.Aliases), SHA256: in.SHA256, AnyPlatform: in.AnyPlatform, Key: in.Key}
	var content io.Reader = body
	if strings.HasPrefix(in.mediaType, "multipart/") {
		part, err := filePart(body, in.parameters["boundary"], &how)
		if err != nil {
			return nil, body.explain(err)
		}
		content = part
	} else {
		how.Size = in.length
	}
	binary, version, existed, err := a.service.UploadBinary(ctx, in.Namespace, in.Name, content, how)
	if err != nil {
		return nil, body.explain(err)
	}
	answer := &uploadAnswer{Status: statusOf(!existed), Body: wire.Upload{
		Name: binary.Name, Version: viewVersion(version), Aliases: viewAliases(&binary), Existed: existed,
	}}
	if !existed {
		answer.Location = Prefix + "/binaries/" + binary.Name
	}
	return answer, nil
}

// explain returns a fault of the body as such.
func (u *upload) explain(err error) error {
	if u.err == nil {
		return err
	}
	var known *service.Error
	if errors.As(err, &known) {
		return err
	}
	return interrupted(u.err)
}

// maxField is the longest field of a form besides its file, in bytes.
const maxField = 1 << 10

// filePart reads a form up to the content of its file.
func filePart(body io.Reader, boundary string, how *service.Upload) (io.Reader, error) {
	if boundary == "" {
		return nil, invalid("invalid_request", "header.Content-Type", "a form needs a boundary in its Content-Type")
	}
	form := multipart.NewReader(body, boundary)
	for range 100 {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, invalid("file_missing", "body.file", "the form has no part named file")
		}
		if err != nil {
			return nil, invalid("invalid_request", "body", "the form is not understood: %s", err)
		}
		name := part.FormName()
		if name == "file" || name == "" && part.FileName() != "" {
			return part, nil
		}
		data, err := io.ReadAll(io.LimitReader(part, maxField+1))
		if err != nil {
			return nil, err
		}
		value := strings.TrimSpace(string(data))
		switch {
		case len(data) > maxField:
			return nil, invalid("invalid_request", "body."+name, "the field is longer than %d bytes; the program goes into the part named file", maxField)
		case value == "":
		case name == "alias":
			how.Aliases = append(how.Aliases, split([]string{value})...)
		case name == "sha256":
			how.SHA256 = value
		case name == "any_platform":
			how.AnyPlatform = value == "true" || value == "1" || value == "on"
		default:
			return nil, invalid("invalid_request", "body."+name, "the form has a field %q that is not known: use alias, sha256, any_platform and file", name)
		}
	}
	return nil, invalid("invalid_request", "body", "the form has too many fields")
}

// split reads words that come one by one or with commas between.
func split(given []string) []string {
	var words []string
	for _, text := range given {
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}
