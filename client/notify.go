package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tidewheel/tidewheel/client/wire"
)

const notifyPrefix = prefix + "/notify"

// NotifyTargets lists notification targets by name.
func (c *Client) NotifyTargets(ctx context.Context, page Page) (wire.List[wire.NotifyTarget], error) {
	return ask[wire.List[wire.NotifyTarget]](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/targets", query: page.query()})
}

// NotifyTarget shows a notification target.
func (c *Client) NotifyTarget(ctx context.Context, name string) (wire.NotifyTarget, error) {
	return ask[wire.NotifyTarget](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/targets" + path(name)})
}

// SetNotifyTarget makes or changes a notification target. Of a new webhook the answer has the signing secret.
func (c *Client) SetNotifyTarget(ctx context.Context, name string, settings wire.NotifyTargetSettings) (wire.NotifyTarget, error) {
	return ask[wire.NotifyTarget](ctx, c, call{method: http.MethodPut, path: notifyPrefix + "/targets" + path(name), value: settings})
}

// DeleteNotifyTarget deletes a notification target; by force also one that definitions name.
func (c *Client) DeleteNotifyTarget(ctx context.Context, name string, force bool) error {
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: notifyPrefix + "/targets" + path(name), query: query})
	return err
}

// TestNotifyTarget sends a test to a notification target, and returns its answer.
func (c *Client) TestNotifyTarget(ctx context.Context, name string) (wire.NotifyTested, error) {
	return ask[wire.NotifyTested](ctx, c, call{method: http.MethodPost, path: notifyPrefix + "/targets" + path(name, "test")})
}

// DeliveryFilter selects notifications; an empty field selects all.
type DeliveryFilter struct {
	Page

	Target string
	State  string // waiting, held, delivered, failed or silenced
}

// Deliveries lists notifications, the newest first.
func (c *Client) Deliveries(ctx context.Context, filter DeliveryFilter) (wire.List[wire.NotifyDelivery], error) {
	query := filter.query()
	set(query, "target", filter.Target)
	set(query, "state", filter.State)
	return ask[wire.List[wire.NotifyDelivery]](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/deliveries", query: query})
}

// Delivery shows a notification.
func (c *Client) Delivery(ctx context.Context, id string) (wire.NotifyDelivery, error) {
	return ask[wire.NotifyDelivery](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/deliveries" + path(id)})
}

// RetryDelivery sends a notification again that its target has not taken.
func (c *Client) RetryDelivery(ctx context.Context, id string) (wire.NotifyDelivery, error) {
	return ask[wire.NotifyDelivery](ctx, c, call{method: http.MethodPost, path: notifyPrefix + "/deliveries" + path(id, "retry")})
}

// Incidents lists what is wrong now, the latest begun first.
func (c *Client) Incidents(ctx context.Context, page Page) (wire.List[wire.NotifyIncident], error) {
	return ask[wire.List[wire.NotifyIncident]](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/incidents", query: page.query()})
}

// Silences lists the silences that are not over, by when they end.
func (c *Client) Silences(ctx context.Context) (wire.List[wire.NotifySilence], error) {
	return ask[wire.List[wire.NotifySilence]](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/silences"})
}

// AddSilence keeps notifications from being sent for a time.
func (c *Client) AddSilence(ctx context.Context, silence wire.NewNotifySilence) (wire.NotifySilence, error) {
	return ask[wire.NotifySilence](ctx, c, call{method: http.MethodPost, path: notifyPrefix + "/silences", value: silence})
}

// DeleteSilence ends a silence.
func (c *Client) DeleteSilence(ctx context.Context, id string) error {
	_, err := ask[struct{}](ctx, c, call{method: http.MethodDelete, path: notifyPrefix + "/silences" + path(id)})
	return err
}

// NotifyRules returns the default alerts of definitions without alerts of their own.
func (c *Client) NotifyRules(ctx context.Context) (wire.NotifyRules, error) {
	return ask[wire.NotifyRules](ctx, c, call{method: http.MethodGet, path: notifyPrefix + "/rules"})
}

// SetNotifyRules sets the default alerts of definitions without alerts of their own.
func (c *Client) SetNotifyRules(ctx context.Context, rules wire.NotifyRules) (wire.NotifyRules, error) {
	return ask[wire.NotifyRules](ctx, c, call{method: http.MethodPut, path: notifyPrefix + "/rules", value: rules})
}
