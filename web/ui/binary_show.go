package ui

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
)

// movesShown is how many moves of aliases a page lists.
const movesShown = 10

func (u *UI) binaryShow(c echo.Context) error {
	ctx := c.Request().Context()
	binary, err := u.service.Binary(ctx, namespace, c.Param("name"))
	if err != nil {
		return err
	}
	jobs, err := u.service.JobsUsing(ctx, namespace, binary.Name)
	if err != nil {
		return err
	}
	view := templates.Binary{
		Page: u.page(c, templates.SectionBinaries, binary.Name), Name: binary.Name, Aliases: viewAliases(&binary), Jobs: jobs,
	}
	for _, v := range slices.Backward(binary.Versions) {
		version := templates.Version{
			N: v.N, SHA256: v.SHA256, Size: v.Size, Kind: kindWords(v.Kind, v.Arch), By: v.UploadedBy, At: v.At,
			Content: fmt.Sprintf("/api/v1/binaries/%s/versions/%d/content", binary.Name, v.N),
		}
		for _, alias := range view.Aliases {
			if alias.N == v.N {
				version.Aliases = append(version.Aliases, alias.Name)
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
