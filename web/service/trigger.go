package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/trigger"
)

// triggered is a job or a DAG, as far as events are concerned with it.
type triggered struct {
	uid      string
	dag      bool
	paused   bool
	reason   string // of the pause
	triggers *spec.Triggers
}

// triggered reads the job or DAG of a name, which one of them has at most; engine.ErrNotFound.
func (s *Service) triggered(ctx context.Context, namespace, name string) (triggered, error) {
	job, err := s.store.Jobs().Get(ctx, namespace, name)
	if err == nil {
		return triggered{job.UID, false, job.Paused, job.PausedReason, job.Spec.Triggers}, nil
	}
	if !errors.Is(err, engine.ErrNotFound) {
		return triggered{}, fmt.Errorf("read job %s: %w", name, err)
	}
	dag, err := s.store.DAGs().Get(ctx, namespace, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		err = fmt.Errorf("read DAG %s: %w", name, err)
	}
	return triggered{dag.UID, true, dag.Paused, dag.PausedReason, dag.Spec.Triggers}, err
}

// Started is what an event has started.
type Started struct {
	ID      string // of the run, or of the wave of a DAG
	DAG     bool
	Existed bool // the event had started it before
}

// startEvent starts the run or wave of an event, once for each event. What is paused starts nothing.
func (s *Service) startEvent(ctx context.Context, namespace, name string, of triggered, event trigger.Event) (Started, error) {
	started := Started{ID: engine.ManualRunID(of.uid, event.Key())}
	var err error
	if started.DAG = of.dag; of.dag {
		started.ID = engine.ManualWaveID(of.uid, event.Key())
		_, err = s.waves().get(ctx, started.ID)
	} else {
		_, err = s.runs().get(ctx, started.ID)
	}
	if !errors.Is(err, engine.ErrNotFound) {
		started.Existed = true
		return started, err
	}
	if of.paused {
		why := ""
		if of.reason != "" {
			why = " (" + of.reason + ")"
		}
		return started, conflict("paused", "%s is paused%s, and events start nothing until it is resumed", name, why)
	}
	start := Start{By: event.By, Payload: event.Payload, Key: event.Key(), Event: true}
	if of.dag {
		if !event.Instead {
			if dag, err := s.DAGs.Get(ctx, namespace, name); err == nil && len(dag.Spec.Payload) > 0 {
				start.Payload = nil
			}
		}
		_, started.Existed, err = s.StartWave(ctx, namespace, name, start)
		return started, err
	}
	if !event.Instead {
		if job, err := s.Jobs.Get(ctx, namespace, name); err == nil && len(job.Spec.Payload) > 0 {
			start.Payload = nil
		}
	}
	_, started.Existed, err = s.StartRun(ctx, namespace, name, start)
	return started, err
}

// outcome records what an event has led to. It is for people: that it cannot be written is no fault of the event.
func (s *Service) outcome(ctx context.Context, namespace, name string, event trigger.Event, outcome trigger.Outcome) {
	outcome.At, outcome.Event = s.now(), event.ID
	if err := s.triggers.SetOutcome(ctx, namespace, name, event.Source, outcome); err != nil {
		s.log.Warn("what an event led to is not recorded", "namespace", namespace, "definition", name, "event", event.ID, "error", err)
	}
}

// Followers starts what comes after successes; see trigger.Service.
type Followers struct{ s *Service }

// Followers returns what a trigger.Watcher works with.
func (s *Service) Followers() Followers { return Followers{s} }

// Triggered returns a job or DAG; engine.ErrNotFound.
func (f Followers) Triggered(ctx context.Context, namespace, name string) (trigger.Definition, error) {
	of, err := f.s.triggered(ctx, namespace, name)
	return trigger.Definition{UID: of.uid, DAG: of.dag, Triggers: of.triggers}, err
}

// Start starts a run or wave. What will never start is recorded, and is no error.
func (f Followers) Start(ctx context.Context, namespace, name string, event trigger.Event) error {
	of, err := f.s.triggered(ctx, namespace, name)
	if err != nil {
		return err
	}
	if event.Source == trigger.Objects { // it may have been closed since the definition was saved
		if faults := f.s.bucketFaults(namespace, of.triggers); len(faults) > 0 {
			return f.Refuse(ctx, namespace, name, event, faults[0].Message)
		}
	}
	started, err := f.s.startEvent(ctx, namespace, name, of, event)
	var refused *Error
	switch {
	case err == nil && started.Existed: // as it was recorded
		return nil
	case err == nil:
		f.s.outcome(ctx, namespace, name, event, trigger.Outcome{Run: started.ID})
		return nil
	case errors.As(err, &refused) && refused.Kind != KindUnavailable && refused.Kind != KindBusy:
		return f.Refuse(ctx, namespace, name, event, refused.Detail)
	case errors.As(err, &refused):
		f.s.outcome(ctx, namespace, name, event, trigger.Outcome{Reason: refused.Detail + "; it is tried again"})
	}
	return err
}

// Refuse records why an event starts nothing.
func (f Followers) Refuse(ctx context.Context, namespace, name string, event trigger.Event, reason string) error {
	f.s.log.Info("an event starts nothing", "namespace", namespace, "definition", name, "source", string(event.Source), "event", event.ID, "reason", reason)
	f.s.outcome(ctx, namespace, name, event, trigger.Outcome{Reason: reason})
	return nil
}

// ErrNoHook means that a request may start nothing: there is no such webhook, or the request is not signed with its secret. A sender
// without the secret learns which.
var ErrNoHook = errors.New("there is no such webhook, or the request is not signed with its secret")

// Hook starts a job or DAG by a request that was sent to its webhook. A request by which a sender only tries it out starts nothing, and
// returns no id. Errors besides *Error: ErrNoHook, *trigger.HeaderError.
func (s *Service) Hook(ctx context.Context, namespace, name string, header http.Header, body []byte) (Started, error) {
	delivery, err := trigger.ReadDelivery(header)
	if err != nil {
		return Started{}, err
	}
	of, err := s.triggered(ctx, namespace, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return Started{}, err
	}
	key, err := s.hookKey(ctx, namespace, of.triggers.HookSecret())
	if err != nil {
		return Started{}, err
	}
	err = delivery.Verify(key, body, s.now())
	var unusable *trigger.KeyError
	switch {
	case errors.Is(err, trigger.ErrSignature), key == nil:
		return Started{}, ErrNoHook
	case errors.As(err, &unusable):
		s.log.Warn("requests to a webhook are refused", "namespace", namespace, "definition", name, "reason", unusable.Reason)
		s.outcome(ctx, namespace, name, trigger.Event{Source: trigger.Webhook, ID: delivery.ID}, trigger.Outcome{Reason: unusable.Reason})
		return Started{}, ErrNoHook
	case err != nil:
		return Started{}, err
	case delivery.Ping:
		return Started{DAG: of.dag}, nil
	}
	event := trigger.Event{Source: trigger.Webhook, ID: delivery.ID, By: string(trigger.Webhook), Instead: true}
	if len(body) > 0 {
		event.Payload = json.RawMessage(body)
	}
	started, err := s.startHook(ctx, namespace, name, of, event, &delivery)
	var refused *Error
	switch {
	case err == nil && !started.Existed:
		s.outcome(ctx, namespace, name, event, trigger.Outcome{Run: started.ID})
		audit.Describe(ctx, namespace, audit.Change{What: "webhook of " + name, After: "started " + started.ID})
	case errors.As(err, &refused):
		s.outcome(ctx, namespace, name, event, trigger.Outcome{Reason: refused.Detail})
	}
	return started, err
}

func (s *Service) startHook(
	ctx context.Context, namespace, name string, of triggered, event trigger.Event, delivery *trigger.Delivery,
) (Started, error) {
	if len(event.Payload) > 0 && !json.Valid(event.Payload) {
		return Started{}, field("payload_not_json", "body", "the body is not JSON, and it is the payload: send application/json, or nothing")
	}
	before, err := s.triggers.Remember(ctx, namespace, name, delivery)
	if errors.Is(err, trigger.ErrReplayed) {
		return Started{}, conflict("replayed", "%s: its id is not signed, so it counts as a copy and starts nothing", trigger.ErrReplayed)
	}
	if err != nil {
		return Started{}, fmt.Errorf("look for an earlier request: %w", err)
	}
	if before != "" {
		return Started{ID: before, DAG: of.dag, Existed: true}, nil
	}
	started, err := s.startEvent(ctx, namespace, name, of, event)
	if err != nil {
		return started, err
	}
	if err := s.triggers.RememberStarted(ctx, namespace, name, delivery, started.ID); err != nil {
		return started, fmt.Errorf("write down what a request has started: %w", err) // it is sent again, and is found then
	}
	return started, nil
}

// hookKey returns the value of the secret of a webhook; nil if there is none.
func (s *Service) hookKey(ctx context.Context, namespace, name string) ([]byte, error) {
	if s.config.Secrets == nil || name == "" {
		return nil, nil
	}
	value, err := s.config.Secrets.Open(ctx, namespace, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		s.log.Warn("requests to a webhook are refused: its secret is not there", "namespace", namespace, "secret", name)
		return nil, nil
	case err != nil:
		s.log.Warn("requests to a webhook cannot be verified", "namespace", namespace, "secret", name, "error", err)
		return nil, &Error{Kind: KindUnavailable, Code: "no_key", Err: err, Detail: "this server cannot open the secret of the webhook: " +
			"start it with --secrets-key-file, or send the request to a server that has the key"}
	}
	return value, nil
}

// ShownTrigger is a trigger of a definition, and how it does.
type ShownTrigger struct {
	Source trigger.Source
	// Path is that of a webhook, Secret the name of its secret.
	Path, Secret string
	// Subject is the whole subject of NATS that messages are published to, and Bucket and Prefix say where objects appear.
	Subject, Bucket, Prefix string
	// Upstreams are those of AfterSuccess.
	Upstreams []ShownUpstream
	// Problem is why events start nothing now; "" if they do.
	Problem string
	Last    *trigger.Outcome // of the last event; nil before any
}

// ShownUpstream is a job or DAG that another one starts after.
type ShownUpstream struct {
	spec.Upstream
	DAG     bool
	Foreign bool   // of another namespace
	Problem string // why its success starts nothing; "" if it does
}

// HookPath is the path of a webhook.
func HookPath(namespace, name string) string { return "/api/v1/hooks/" + namespace + "/" + name }

// TriggersOf returns the triggers of a definition.
func (s *Service) TriggersOf(ctx context.Context, namespace, name string) ([]ShownTrigger, error) {
	of, err := s.triggered(ctx, namespace, name)
	if err != nil {
		return nil, explain(err, "job or DAG", name)
	}
	if of.triggers == nil {
		return nil, nil
	}
	outcomes, err := s.triggers.Outcomes(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	last := func(source trigger.Source) *trigger.Outcome {
		if outcome, known := outcomes[source]; known {
			return &outcome
		}
		return nil
	}
	problem := ""
	if of.paused {
		problem = "It is paused: events start nothing, and are not made up for."
	}
	var shown []ShownTrigger
	if secret := of.triggers.HookSecret(); secret != "" {
		hook := ShownTrigger{Source: trigger.Webhook, Path: HookPath(namespace, name), Secret: secret, Problem: problem, Last: last(trigger.Webhook)}
		faults, err := s.hookFaults(ctx, namespace, of.triggers)
		if err != nil {
			return nil, err
		}
		if len(faults) > 0 {
			hook.Problem = sentence(faults[0].Message)
		}
		shown = append(shown, hook)
	}
	if message := of.triggers.Message; message != nil {
		shown = append(shown, ShownTrigger{
			Source: trigger.Message, Subject: "triggers." + namespace + "." + message.Subject, Problem: problem, Last: last(trigger.Message),
		})
	}
	if objects := of.triggers.Objects; objects != nil {
		one := ShownTrigger{Source: trigger.Objects, Bucket: objects.Bucket, Prefix: objects.Prefix, Problem: problem, Last: last(trigger.Objects)}
		if faults := s.bucketFaults(namespace, of.triggers); len(faults) > 0 {
			one.Problem = sentence(faults[0].Message)
		}
		shown = append(shown, one)
	}
	if len(of.triggers.AfterSuccess) > 0 {
		after := ShownTrigger{Source: trigger.AfterSuccess, Problem: problem, Last: last(trigger.AfterSuccess)}
		for _, upstream := range of.triggers.Upstreams(namespace) {
			one := ShownUpstream{Upstream: upstream, Foreign: upstream.Namespace != namespace}
			found, err := s.triggered(ctx, upstream.Namespace, upstream.Name)
			switch {
			case err != nil && !errors.Is(err, engine.ErrNotFound):
				return nil, err
			case one.Foreign && (err != nil || !found.triggers.MayFollow(upstream.Namespace, namespace)):
				one.Problem = trigger.NotAllowed(upstream.Namespace, upstream.Name, namespace)
			case err != nil:
				one.Problem = "there is no such job or DAG"
			default:
				one.DAG = found.dag
			}
			after.Upstreams = append(after.Upstreams, one)
		}
		shown = append(shown, after)
	}
	return shown, nil
}

// triggerFaults returns which triggers of a definition cannot work.
func (s *Service) triggerFaults(ctx context.Context, namespace, name string, triggers *spec.Triggers) ([]taskFault, error) {
	faults, err := s.hookFaults(ctx, namespace, triggers)
	if err != nil {
		return nil, err
	}
	faults = append(faults, s.bucketFaults(namespace, triggers)...)
	add := func(code, at, format string, args ...any) {
		refused := field(code, at, format, args...)
		faults = append(faults, taskFault{refused.Fields[0], code})
	}
	for i, upstream := range triggers.Upstreams(namespace) {
		at := fmt.Sprintf("body.triggers.after_success[%d]", i)
		found, err := s.triggered(ctx, upstream.Namespace, upstream.Name)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		if upstream.Namespace != namespace && (err != nil || !found.triggers.MayFollow(upstream.Namespace, namespace)) {
			add("upstream_not_allowed", at, "%s", trigger.NotAllowed(upstream.Namespace, upstream.Name, namespace))
			continue
		}
		if cycle, err := s.follows(ctx, upstream, spec.Upstream{Namespace: namespace, Name: name}); err != nil {
			return nil, err
		} else if cycle {
			add("trigger_cycle", at, "%s starts after %s in turn, so that each success would start both for ever: remove one of them", upstream.Name, name)
		}
	}
	return faults, nil
}

// mostFollowed bounds how many definitions are read to find a cycle.
const mostFollowed = 200

// follows reports whether a definition starts after another one, by any number of steps.
func (s *Service) follows(ctx context.Context, from, to spec.Upstream) (bool, error) {
	known := map[spec.Upstream]bool{from: true}
	open := []spec.Upstream{from}
	for len(open) > 0 && len(known) < mostFollowed {
		one := open[0]
		open = open[1:]
		if one == to {
			return true, nil
		}
		found, err := s.triggered(ctx, one.Namespace, one.Name)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return false, err
		}
		for _, next := range found.triggers.Upstreams(one.Namespace) {
			if !known[next] {
				known[next] = true
				open = append(open, next)
			}
		}
	}
	return false, nil
}

// hookFaults returns why the webhook of a definition cannot work.
func (s *Service) hookFaults(ctx context.Context, namespace string, triggers *spec.Triggers) ([]taskFault, error) {
	if triggers.HookSecret() == "" {
		return nil, nil
	}
	return s.secretFaults(ctx, namespace, "body.triggers", map[string]string{"webhook.secret": triggers.HookSecret()})
}

// bucketFaults returns why a definition may not wait for objects.
func (s *Service) bucketFaults(namespace string, triggers *spec.Triggers) []taskFault {
	if triggers == nil || triggers.Objects == nil || s.config.MayWatch != nil && s.config.MayWatch(namespace, triggers.Objects.Bucket) {
		return nil
	}
	const code = "bucket_not_open"
	refused := field(code, "body.triggers.objects.bucket",
		"the bucket %s is not open to the namespace %s: ask who runs the server to start it with --trigger-bucket %[2]s=%[1]s", triggers.Objects.Bucket, namespace)
	return []taskFault{{refused.Fields[0], code}}
}

// follow lets the engines know what is waited for, before the definition is saved that waits.
func (s *Service) follow(ctx context.Context, namespace, name string, triggers *spec.Triggers) error {
	if triggers == nil {
		return nil
	}
	if upstreams := triggers.Upstreams(namespace); len(upstreams) > 0 {
		if err := s.triggers.Follow(ctx, namespace, name, upstreams); err != nil {
			return err
		}
	}
	if triggers.Message != nil {
		if err := s.triggers.Listen(ctx, namespace, name, triggers.Message.Subject); err != nil {
			return err
		}
	}
	if triggers.Objects == nil {
		return nil
	}
	before, err := s.triggered(ctx, namespace, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	again := before.triggers != nil && before.triggers.Objects != nil && *before.triggers.Objects == *triggers.Objects
	return s.triggers.Watch(ctx, namespace, name, triggers.Objects.Bucket, triggers.Objects.Prefix, again)
}

var _ trigger.Service = Followers{}
