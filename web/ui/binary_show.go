package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// movesShown is how many moves of aliases a page lists.
	movesShown = 10
	// versionsPerPage is how many versions.
	versionsPerPage = 50
)

func (u *UI) binaryShow(c echo.Context) error {
	ctx := c.Request().Context()
	binary, err := u.service.Binary(ctx, namespaceOf(ctx), c.Param("name"))
	if err != nil {
		return err
	}
	users, err := u.service.JobsUsing(ctx, &binary)
	if err != nil {
		return err
	}
	view := templates.Binary{
		Page: u.page(c, templates.SectionBinaries, binary.Name), Name: binary.Name, Aliases: viewAliases(&binary), Jobs: viewUsers(users),
		Total: len(binary.Versions), Choice: versionChoice(&binary), Uploaded: c.QueryParam(noticeParameter) == "uploaded",
	}
	versions, next := versionPage(binary.Versions, versionNumber(c.QueryParam("cursor")))
	view.Pager = pager(c, c.QueryParam("cursor"), next)
	for _, v := range slices.Backward(versions) {
		version := viewVersion(binary.Namespace, binary.Name, v)
		version.Aliases = service.AliasesAt(&binary, v.N)
		version.Before, _ = beside(&binary, v.N)
		for _, user := range users {
			if user.Version == v.N {
				version.Jobs = append(version.Jobs, user.Label())
			}
		}
		view.Versions = append(view.Versions, version)
	}
	for _, m := range slices.Backward(binary.AliasHistory) {
		if len(view.Moves) == movesShown {
			break
		}
		view.Moves = append(view.Moves, templates.AliasMove{Alias: m.Alias, From: m.From, To: m.To, By: m.By, At: m.At})
	}
	return u.render(c, http.StatusOK, templates.BinaryPage(view))
}

// versionPage returns the latest versions below a number, or of all where it is 0, and the number that the next page begins
// below, "" at the end.
func versionPage(versions []engine.BinaryVersion, below int) (page []engine.BinaryVersion, next string) {
	end := len(versions)
	for below > 0 && end > 0 && versions[end-1].N >= below {
		end--
	}
	start := max(0, end-versionsPerPage)
	if start > 0 {
		next = strconv.Itoa(versions[start].N)
	}
	return versions[start:end], next
}

func viewVersion(namespace, binary string, v engine.BinaryVersion) templates.Version {
	return templates.Version{
		N: v.N, SHA256: v.SHA256, Size: v.Size, Kind: kindWords(v.Kind, v.Arch), By: v.UploadedBy, At: v.At,
		Content: fmt.Sprintf("/api/v1/binaries/%s/versions/%d/content?namespace=%s", binary, v.N, namespace),
	}
}

func viewUsers(users []service.BinaryUser) []templates.BinaryUser {
	var views []templates.BinaryUser
	for _, user := range users {
		views = append(views, templates.BinaryUser{Job: user.Label(), Reference: suffix(user.Reference), Version: user.Version, Paused: user.Paused})
	}
	return views
}

// suffix is what a reference says beyond the program's name.
func suffix(ref spec.BinaryRef) string {
	switch {
	case ref.Alias != "":
		return "@" + ref.Alias
	case ref.Version > 0:
		return "@" + strconv.Itoa(ref.Version)
	}
	return ""
}
