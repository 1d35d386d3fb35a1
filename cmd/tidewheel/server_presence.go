package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// A server locks its data folder, but not a database. A command that needs the database unused asks which servers use
// it. Servers check for such a query every reportActiveEvery; the command waits activeServersWait for their answers.
const (
	reportActiveEvery = 2 * time.Second
	activeServersWait = 3 * reportActiveEvery
)

// reportActive reports that this server uses its database whenever a command asks, until ctx ends.
func (s *Server) reportActive(ctx context.Context) error {
	store, outside := s.store.(*mongo.Store)
	if !outside {
		return nil
	}
	host, _ := executorID()
	name := fmt.Sprintf("%s (process %d)", host, os.Getpid())
	ticker := time.NewTicker(reportActiveEvery)
	defer ticker.Stop()
	for {
		if err := store.ReportActive(ctx, name); err != nil && ctx.Err() == nil {
			s.log.Debug("could not check whether a command asks for the active servers; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// wantAtRest returns an error if servers use the database.
func (p *place) wantAtRest(ctx context.Context) error {
	if p.mongo == nil {
		return nil
	}
	used := false // the first server that uses a database creates the keys that nodes share
	if err := p.mongo.View(ctx, func(pages engine.DocumentPages) error {
		keys, _, err := pages(engine.CollectionSharedKeys, "", 1)
		used = len(keys) > 0
		return err
	}); err != nil || !used {
		return err
	}
	here, err := p.mongo.ListActiveServers(ctx, activeServersWait)
	if err != nil {
		return err
	}
	if len(here) > 0 {
		return usage("%s is in use by a server on %s: stop all servers, and run the command again", p.config.name(), strings.Join(here, ", "))
	}
	return nil
}
