package mongo

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// monitor calls report for each command once it has ended.
func monitor(report func(Command)) *event.CommandMonitor {
	var underway sync.Map // by the number of the request: what is known of it when it begins
	end := func(of *event.CommandFinishedEvent, failed bool) {
		begun, _ := underway.LoadAndDelete(of.RequestID)
		command, _ := begun.(Command)
		command.Name, command.Took, command.Failed = of.CommandName, of.Duration, failed
		report(command)
	}
	return &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			underway.Store(e.RequestID, measured(e.Command))
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { end(&e.CommandFinishedEvent, false) },
		Failed:    func(_ context.Context, e *event.CommandFailedEvent) { end(&e.CommandFinishedEvent, true) },
	}
}

// measured is what a command says about its size.
func measured(command bson.Raw) (m Command) {
	m.Bytes = len(command)
	if first, err := command.IndexErr(0); err == nil {
		m.Collection, _ = first.Value().StringValueOK()
	}
	for _, list := range []string{"documents", "updates"} {
		if items, is := command.Lookup(list).ArrayOK(); is {
			values, _ := items.Values()
			m.Documents += len(values)
		}
	}
	return m
}
