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

// A folder is locked by its server, a database is not. A command that needs the database at rest asks which servers use
// it. rollEvery is how often servers look for that question, and rollWait how long the command waits for their answers.
const (
	rollEvery = 2 * time.Second
	rollWait  = 3 * rollEvery
)

// answerRoll reports that this server uses its database whenever a command asks, until ctx ends.
func (s *Server) answerRoll(ctx context.Context) error {
	store, outside := s.store.(*mongo.Store)
	if !outside {
		return nil
	}
	host, _ := executorID()
	who := fmt.Sprintf("%s (process %d)", host, os.Getpid())
	ticker := time.NewTicker(rollEvery)
	defer ticker.Stop()
	for {
		if err := store.AnswerRoll(ctx, who); err != nil && ctx.Err() == nil {
			s.log.Debug("reading the roll call of the database failed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// wantAtRest refuses a database that servers use.
func (p *place) wantAtRest(ctx context.Context) error {
	if p.mongo == nil {
		return nil
	}
	used := false // a server has been there once: it made the keys that nodes share
	if err := p.mongo.View(ctx, func(pages engine.DocumentPages) error {
		keys, _, err := pages(engine.CollectionSharedKeys, "", 1)
		used = len(keys) > 0
		return err
	}); err != nil || !used {
		return err
	}
	here, err := p.mongo.CallRoll(ctx, rollWait)
	if err != nil {
		return err
	}
	if len(here) > 0 {
		return usage("%s is in use by a server on %s: stop all servers, and run the command again", p.config.name(), strings.Join(here, ", "))
	}
	return nil
}
