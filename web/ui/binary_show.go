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

// movesShown is how many moves of aliases a page lists.
const movesShown = 10

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
	}
	for _, v := range slices.Backward(binary.Versions) {
		version := viewVersion(binary.Namespace, binary.Name, v)
		for _, alias := range view.Aliases {
			if alias.N == v.N {
				version.Aliases = append(version.Aliases, alias.Name)
			}
		}
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
