package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// InNotifying is InNamespace where the installation as a whole may stand in the place of a namespace.
type InNotifying struct {
	Namespace string `query:"namespace" default:"default" maxLength:"128" pattern:"^([A-Za-z0-9][A-Za-z0-9_-]*|\\*)$" doc:"The namespace; * is the installation as a whole, for admins of all namespaces"`
}

// NotifyTargetPath names a notification target.
type NotifyTargetPath struct {
	InNotifying
	Name string `path:"name" maxLength:"128" doc:"The target's name"`
}

// NotifyPath names a delivery or a silence.
type NotifyPath struct {
	InNotifying
	ID string `path:"id" maxLength:"200" doc:"Its id"`
}

type notifyTargetAnswer struct {
	Status int
	Body   wire.NotifyTarget
}

type deliveryAnswer struct {
	Status int
	Body   wire.NotifyDelivery
}

func notifying(id, method, path, summary, description string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: "/notify" + path, Tags: []string{"notifications"}, Summary: summary, Description: description}
}

func (a *API) notifications() {
	a.notifyTargets()
	a.notifyTargetTest()
	a.notifyDeliveries()
	a.notifyIncidents()
	a.notifySilences()
	a.notifyRules()
}

func (a *API) notifyTargets() {
	register(a, notifying("list-notify-targets", http.MethodGet, "/targets", "List notification targets", "By name. Of a URL only the scheme and host are answered."),
		func(ctx context.Context, in *struct {
			InNotifying
			Page
		}) (*pageAnswer[wire.NotifyTarget], error) {
			targets, next, err := a.service.Targets(ctx, in.Namespace, in.Cursor, in.Limit)
			if err != nil {
				return nil, err
			}
			var items []wire.NotifyTarget
			for i := range targets {
				view, err := a.viewTarget(ctx, &targets[i])
				if err != nil {
					return nil, err
				}
				items = append(items, view)
			}
			return answerPage(items, next), nil
		})
	register(a, notifying("get-notify-target", http.MethodGet, "/targets/{name}", "Show a notification target", ""),
		func(ctx context.Context, in *NotifyTargetPath) (*notifyTargetAnswer, error) {
			found, err := a.service.Target(ctx, in.Namespace, in.Name)
			if err != nil {
				return nil, err
			}
			view, err := a.viewTarget(ctx, &found)
			return &notifyTargetAnswer{http.StatusOK, view}, err
		})
	register(a, notifying("set-notify-target", http.MethodPut, "/targets/{name}", "Make or change a notification target",
		"201 when it is made, 200 otherwise. The answer to making a webhook shows, once, what its messages are signed with."),
		func(ctx context.Context, in *struct {
			NotifyTargetPath
			Body wire.NotifyTargetSettings
		}) (*notifyTargetAnswer, error) {
			set, created, signing, err := a.service.SetTarget(ctx, notify.Target{
				Namespace: in.Namespace, Name: in.Name, Kind: notify.TargetKind(in.Body.Kind), URL: in.Body.URL, Addresses: in.Body.Addresses,
				Job: in.Body.Job, AllowPrivate: in.Body.AllowPrivate, Digest: time.Duration(in.Body.Digest),
			})
			if err != nil {
				return nil, err
			}
			view, err := a.viewTarget(ctx, &set)
			if err != nil {
				return nil, err
			}
			view.SigningSecret = signing
			return &notifyTargetAnswer{statusOf(created), view}, nil
		})
	register(a, notifying("delete-notify-target", http.MethodDelete, "/targets/{name}", "Delete a notification target",
		"One that definitions name is refused (409), unless force is given. One that the rules of the namespace name is refused always."),
		func(ctx context.Context, in *struct {
			NotifyTargetPath
			Force bool `query:"force" doc:"Delete it although definitions name it"`
		}) (*nothing, error) {
			return &nothing{}, a.service.DeleteTarget(ctx, in.Namespace, in.Name, in.Force)
		})
}

func (a *API) notifyTargetTest() {
	register(a, notifying("test-notify-target", http.MethodPost, "/targets/{name}/test", "Send a test to a notification target",
		"Its answer; 409 (test_failed) with the reason where it did not take the message. Each request sends one."),
		func(ctx context.Context, in *NotifyTargetPath) (*struct{ Body wire.NotifyTested }, error) {
			answer, err := a.service.TestTarget(ctx, in.Namespace, in.Name)
			if err != nil {
				return nil, err
			}
			return &struct{ Body wire.NotifyTested }{wire.NotifyTested{Target: in.Name, Answer: answer}}, nil
		})
}

func (a *API) notifyDeliveries() {
	register(a, notifying("list-deliveries", http.MethodGet, "/deliveries", "List notifications",
		"The notifications to targets, sent or pending, the newest first. A page may be shorter than its limit and have a next one."),
		func(ctx context.Context, in *struct {
			InNotifying
			Page
			Target string `query:"target" maxLength:"128" doc:"Only of this target"`
			State  string `query:"state" enum:"waiting,held,delivered,failed,silenced" doc:"Only in this state"`
		}) (*pageAnswer[wire.NotifyDelivery], error) {
			deliveries, next, err := a.service.Deliveries(ctx, notify.DeliveryFilter{
				Namespace: in.Namespace, Target: in.Target, State: in.State, After: in.Cursor, Limit: in.Limit,
			})
			if err != nil {
				return nil, err
			}
			var items []wire.NotifyDelivery
			for i := range deliveries {
				items = append(items, viewDelivery(&deliveries[i]))
			}
			return answerPage(items, next), nil
		})
	register(a, notifying("get-delivery", http.MethodGet, "/deliveries/{id}", "Show a notification", ""),
		func(ctx context.Context, in *NotifyPath) (*deliveryAnswer, error) {
			found, err := a.service.Delivery(ctx, in.Namespace, in.ID)
			if err != nil {
				return nil, err
			}
			return &deliveryAnswer{http.StatusOK, viewDelivery(&found)}, nil
		})
	retry := notifying("retry-delivery", http.MethodPost, "/deliveries/{id}/retry", "Send a notification again",
		"One that failed or was silenced is sent for another day, one that waits at once. 409 if its target has taken it.")
	retry.DefaultStatus = http.StatusAccepted
	register(a, retry, func(ctx context.Context, in *struct {
		NotifyPath
		Keyed
	}) (*deliveryAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "retry-delivery " + in.ID, Key: in.Key}
		found, err := once(ctx, a.service, request, func() (notify.Delivery, error) {
			return a.service.Delivery(ctx, in.Namespace, in.ID)
		}, func() (notify.Delivery, error) {
			return a.service.Redeliver(ctx, in.Namespace, in.ID)
		})
		if err != nil {
			return nil, err
		}
		return &deliveryAnswer{http.StatusAccepted, viewDelivery(&found)}, nil
	})
}

func (a *API) notifyIncidents() {
	register(a, notifying("list-incidents", http.MethodGet, "/incidents", "List incidents", "The active incidents of the definitions, or with namespace * of the installation, that alerts ask for: the latest first."),
		func(ctx context.Context, in *struct {
			InNotifying
			Page
		}) (*pageAnswer[wire.NotifyIncident], error) {
			incidents, next, err := a.service.Incidents(ctx, in.Namespace, in.Cursor, in.Limit)
			if err != nil {
				return nil, err
			}
			var items []wire.NotifyIncident
			for i := range incidents {
				items = append(items, viewIncident(&incidents[i]))
			}
			return answerPage(items, next), nil
		})
}

func (a *API) notifyRules() {
	type answer struct{ Body wire.NotifyRules }
	register(a, notifying("get-notify-rules", http.MethodGet, "/rules", "Show the notification rules",
		"What users are notified of about the definitions of the namespace without alerts of their own."),
		func(ctx context.Context, in *InNotifying) (*answer, error) {
			rules, err := a.service.NotificationRules(ctx, in.Namespace)
			return &answer{wire.NotifyRules{On: rules.On, Lag: rules.Lag, Duration: rules.Duration, To: rules.To}}, err
		})
	register(a, notifying("set-notify-rules", http.MethodPut, "/rules", "Set the notification rules",
		"What is left out is not asked for. They hold within about ten seconds."),
		func(ctx context.Context, in *struct {
			InNotifying
			Body wire.NotifyRules
		}) (*answer, error) {
			rules := spec.Alerts{On: in.Body.On, Lag: in.Body.Lag, Duration: in.Body.Duration, To: in.Body.To}
			return &answer{in.Body}, a.service.SetNotificationRules(ctx, in.Namespace, rules)
		})
}

func (a *API) viewTarget(ctx context.Context, t *notify.Target) (view wire.NotifyTarget, err error) {
	view = wire.NotifyTarget{
		Namespace: t.Namespace, Name: t.Name, Kind: string(t.Kind), Addresses: t.Addresses, Job: t.Job, AllowPrivate: t.AllowPrivate,
		Digest:    spec.Duration(t.Digest),
		CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy, UpdatedAt: t.UpdatedAt, UpdatedBy: t.UpdatedBy,
	}
	if t.URL != "" {
		view.URL = t.Shown()
	}
	view.Problem, err = a.service.TargetProblem(ctx, t.Namespace, t.Name)
	return view, err
}

func viewIncident(i *engine.Incident) wire.NotifyIncident {
	view := wire.NotifyIncident{
		ID: i.ID, Alert: i.Alert, Job: i.Job, DAG: i.DAG, Task: i.Task, Since: i.Since, Latest: i.Latest, Count: i.Count,
		Run: i.Run, Wave: i.Wave, Slot: i.Slot, Reason: i.Reason, Over: i.Over, Ended: i.Ended,
	}
	if i.Namespace == notify.Installation {
		view.Subject = i.UID
	}
	return view
}

func viewDelivery(d *notify.Delivery) wire.NotifyDelivery {
	view := wire.NotifyDelivery{
		ID: d.ID, Namespace: d.Namespace, Target: d.Target, State: d.State, Over: d.Over, Incident: viewIncident(&d.Incident),
		Tries: d.Tries, Reason: d.Reason, NextAt: d.NextAt, CreatedAt: d.CreatedAt, EndedAt: d.EndedAt,
	}
	for _, try := range d.Attempts {
		view.Attempts = append(view.Attempts, wire.NotifyAttempt{At: try.At, Answer: try.Answer, Error: try.Error})
	}
	return view
}
