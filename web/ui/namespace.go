package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/service"
)

// namespaceOf returns the namespace whose jobs, DAGs, runs and binaries a page shows and changes.
func namespaceOf(ctx context.Context) string { return access.NamespaceOf(ctx) }

// leadElsewhere answers a link to something of another namespace that the reader may read: with its page there.
func leadElsewhere(c echo.Context, err error) error {
	elsewhere, is := errors.AsType[*service.ElsewhereError](err)
	if !is || refreshes(c) {
		return err
	}
	address := *c.Request().URL
	query := address.Query()
	query.Set("namespace", elsewhere.Namespace)
	address.RawQuery = query.Encode()
	return c.Redirect(http.StatusSeeOther, address.RequestURI())
}
