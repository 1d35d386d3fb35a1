package ui

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// maxField is the longest field of the form besides its file, in bytes.
	maxField = 1 << 10
	// drained is how much of a refused upload is still read, so that the browser gets to see why; in bytes.
	drained = 64 << 20
	// stalled is how long an upload may bring nothing at all.
	stalled = time.Minute
)

func (u *UI) binaryUploadForm(c echo.Context) error {
	return u.uploadForm(c, http.StatusOK, templates.Upload{Name: c.QueryParam("name"), Alias: "stable"})
}

func (u *UI) uploadForm(c echo.Context, status int, view templates.Upload) error {
	view.Page = u.page(c, templates.SectionBinaries, "Upload a program")
	view.MaxSize = templates.Size(u.config.MaxBinary)
	view.Platform = runtime.GOOS + "/" + runtime.GOARCH
	return u.render(c, status, templates.UploadPage(view))
}

// binaryUpload takes the form's fields, and streams its file, which comes last, to the store.
func (u *UI) binaryUpload(c echo.Context) error {
	ctx := c.Request().Context()
	body := &steadyBody{ReadCloser: c.Request().Body, control: http.NewResponseController(c.Response())}
	c.Request().Body = body
	defer body.end()
	form, file, err := readUpload(c.Request())
	if err == nil {
		how := service.Upload{By: service.Actor(ctx), AnyPlatform: form.anyPlatform}
		if form.alias != "" {
			how.Aliases = []string{form.alias}
		}
		var existed bool
		_, _, existed, err = u.service.UploadBinary(ctx, namespaceOf(ctx), form.name, file, how)
		if err == nil {
			return uploaded(c, &form, existed)
		}
	}
	return u.refuseUpload(c, form, body, err)
}

func uploaded(c echo.Context, form *uploadForm, existed bool) error {
	notice := "uploaded"
	if existed {
		notice = "same"
	}
	location := "/binaries/" + form.name + "?" + url.Values{noticeParameter: {notice}}.Encode()
	if byScript(c) {
		reference := form.name
		if form.alias != "" {
			reference += "@" + form.alias
		}
		job := "/jobs/new?" + url.Values{"binary": {reference}}.Encode()
		return c.JSON(http.StatusCreated, map[string]string{"location": location, "job": job})
	}
	return c.Redirect(http.StatusSeeOther, location)
}

// byScript reports whether the page's script sends the form, and reads the answer.
func byScript(c echo.Context) bool {
	return strings.Contains(c.Request().Header.Get(echo.HeaderAccept), echo.MIMEApplicationJSON)
}

// refuseUpload shows what is wrong with an upload in the form, where the user can correct it.
func (u *UI) refuseUpload(c echo.Context, form uploadForm, body *steadyBody, err error) error {
	var known *service.Error
	if !errors.As(err, &known) {
		if body.err != nil {
			// The browser's connection broke: hardly anybody reads this.
			return echo.NewHTTPError(http.StatusBadRequest, "the upload broke off").SetInternal(err)
		}
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(body, drained)) // what is left; if it breaks off, nobody waits for an answer
	if byScript(c) {
		return known
	}
	status := http.StatusUnprocessableEntity
	switch known.Kind {
	case service.KindTooLarge:
		status = http.StatusRequestEntityTooLarge
	case service.KindExists, service.KindConflict:
		status = http.StatusConflict
	case service.KindForbidden: // it has no room
		status = http.StatusForbidden
	case service.KindInvalid:
	case service.KindNotFound, service.KindUnavailable, service.KindFenced, service.KindBusy:
		return known
	}
	return u.uploadForm(c, status, templates.Upload{Name: form.name, Alias: form.alias, Problem: known.Detail})
}

type uploadForm struct {
	name, alias string
	anyPlatform bool
}

// readUpload reads a form up to the content of its file.
func readUpload(r *http.Request) (form uploadForm, file *multipart.Part, err error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return form, nil, refusal("invalid_form", "this form sends a file: use multipart/form-data")
	}
	for range 10 {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return form, nil, err
		}
		if part.FormName() == "file" {
			switch {
			case part.FileName() == "":
				return form, nil, refusal("file_missing", "choose a file first")
			case form.name == "":
				return form, nil, refusal("invalid_name", "give the program a name first")
			}
			return form, part, nil
		}
		data, err := io.ReadAll(io.LimitReader(part, maxField+1))
		if err != nil {
			return form, nil, err
		}
		if len(data) > maxField {
			return form, nil, refusal("invalid_form", "the field "+part.FormName()+" is too long")
		}
		switch value := strings.TrimSpace(string(data)); part.FormName() {
		case "name":
			form.name = value
		case "alias":
			form.alias = value
		case "any_platform":
			form.anyPlatform = value != ""
		}
	}
	return form, nil, refusal("file_missing", "the form has no file")
}

func refusal(code, detail string) error {
	return &service.Error{Kind: service.KindInvalid, Code: code, Detail: detail}
}

// steadyBody takes as long as it needs, so long as something comes.
type steadyBody struct {
	io.ReadCloser
	control *http.ResponseController
	err     error // why it broke off
}

func (s *steadyBody) Read(p []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(stalled)) // where it cannot be set, the connection's end is the limit
	n, err := s.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// end takes the limit away: past the body it would end the request.
func (s *steadyBody) end() { _ = s.control.SetReadDeadline(time.Time{}) }
