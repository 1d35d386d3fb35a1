package ui

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// binaryVersion shows one version: its facts and, of a script, its source.
func (u *UI) binaryVersion(c echo.Context) error {
	ctx := c.Request().Context()
	source, err := u.service.BinarySource(ctx, namespaceOf(ctx), c.Param("name"), versionNumber(c.Param("n")))
	if err != nil {
		return err
	}
	binary, n := &source.Binary, source.Version.N
	uses, err := u.service.VersionUses(ctx, binary, n)
	if err != nil {
		return err
	}
	view := templates.BinaryVersion{
		Page: u.page(c, templates.SectionBinaries, binary.Name+" version "+strconv.Itoa(n)), Name: binary.Name,
		Version: viewVersion(binary.Namespace, binary.Name, source.Version), Choice: versionChoice(binary),
		RunBy: uses[n].RunBy, Recent: uses[n].Recent, Source: viewSource(&source),
	}
	view.Version.Aliases = service.AliasesAt(binary, n)
	view.Before, view.After = beside(binary, n)
	return u.render(c, http.StatusOK, templates.BinaryVersionPage(view))
}

// beside returns the versions before and after one, 0 for none.
func beside(binary *engine.Binary, n int) (before, after int) {
	for _, version := range binary.Versions {
		switch {
		case version.N < n:
			before = version.N
		case version.N > n:
			return before, version.N
		}
	}
	return before, 0
}

func viewSource(source *service.Source) templates.Source {
	view := templates.Source{Missing: source.Missing, More: source.More, Cut: source.Cut}
	for _, line := range source.Lines {
		view.Lines = append(view.Lines, readable(line.Text))
	}
	return view
}

// binarySource sends the text of a version as it is.
func (u *UI) binarySource(c echo.Context) error {
	ctx := c.Request().Context()
	content, version, err := u.service.BinaryContent(ctx, namespaceOf(ctx), c.Param("name"), versionNumber(c.Param("n")))
	if err != nil {
		return err
	}
	defer content.Close()
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/plain; charset=utf-8") // whatever it is, the browser must not run it
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set(echo.HeaderContentLength, strconv.FormatInt(version.Size, 10))
	c.Response().WriteHeader(http.StatusOK)
	_, err = io.Copy(u.patient(c), content)
	return err
}

// binaryDiff compares two versions.
func (u *UI) binaryDiff(c echo.Context) error {
	ctx := c.Request().Context()
	a, b := versionNumber(c.QueryParam("a")), versionNumber(c.QueryParam("b"))
	if a < 1 || b < 1 {
		return refusal("version_missing", "name two versions, each a number from 1: ?a=1&b=2")
	}
	diff, err := u.service.CompareVersions(ctx, namespaceOf(ctx), c.Param("name"), a, b)
	if err != nil {
		return err
	}
	name := diff.Binary.Name
	view := templates.BinaryDiff{
		Page: u.page(c, templates.SectionBinaries, name+": version "+strconv.Itoa(a)+" and "+strconv.Itoa(b)), Name: name,
		A: viewVersion(diff.Binary.Namespace, name, diff.A), B: viewVersion(diff.Binary.Namespace, name, diff.B), Choice: versionChoice(&diff.Binary),
		Swap: versionDiffURL(name, b, a), Source: viewLineDiff(&diff.Source), Notes: sourceNotes(&diff.Source),
	}
	diff.Fields = slices.DeleteFunc(diff.Fields, func(field service.FieldDiff) bool { return field.Name == "uploaded" }) // the sides say so
	for i := range diff.Fields {
		if field := &diff.Fields[i]; field.Name == "digest" {
			field.A, field.B = templates.ShortDigest(field.A), templates.ShortDigest(field.B)
		}
	}
	view.Fields, view.Same = viewFields(diff.Fields)
	return u.render(c, http.StatusOK, templates.BinaryDiffPage(view))
}

func versionDiffURL(name string, a, b int) string {
	return "/binaries/" + name + "/diff?" + url.Values{"a": {strconv.Itoa(a)}, "b": {strconv.Itoa(b)}}.Encode()
}

// sourceNotes say what of two scripts was not compared.
func sourceNotes(diff *service.LineDiff) []string {
	switch {
	case diff.Missing != "":
		return []string{diff.Missing}
	case diff.SkippedA+diff.SkippedB > 0:
		return []string{"Only the first " + templates.Grouped(service.SourceLines) + " lines of each are compared."}
	}
	return nil
}

// versionsOffered is how many versions a list offers; where there are more, a number is typed.
const versionsOffered = 50

func versionChoice(binary *engine.Binary) templates.VersionChoice {
	choice := templates.VersionChoice{}
	if latest, ok := binary.Latest(); ok {
		choice.Latest = latest.N
	}
	if len(binary.Versions) <= versionsOffered {
		for i := len(binary.Versions) - 1; i >= 0; i-- {
			choice.Offered = append(choice.Offered, binary.Versions[i].N)
		}
	}
	return choice
}
