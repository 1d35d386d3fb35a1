package main

import (
	"context"
	"math"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// loginLife is how long the link of the first start is good.
	loginLife = 24 * time.Hour
	// webDrain is how long requests under way may take to end.
	webDrain = 10 * time.Second
)

// startWeb serves the pages and the API.
func (s *Server) startWeb(context.Context) error {
	guard, codes := auth.Open(), (*auth.Codes)(nil)
	if s.config.Auth {
		guard = auth.NewGuard(s.service.Access)
		if s.tokenMade {
			codes = auth.NewCodes(nil)
			s.loginURL = s.URL() + "/login?token=" + codes.Issue(loginLife)
		}
	}
	s.metrics.watchQueue(s.service, s.log)
	s.metrics.watchLedger(s.service.LedgerState)
	s.parts.add("the check of the ledger", func(ctx context.Context) error {
		s.service.WatchLedger(ctx, s.config.Retention)
		return nil
	})
	s.parts.add("the deletions that can be undone", func(ctx context.Context) error {
		s.service.RunRemovals(ctx)
		return nil
	})
	config := web.Config{
		Service: s.service, Guard: guard, Codes: codes, Log: s.log, Version: version,
		Metrics: s.metrics.handler(), MetricsReaders: s.readers, Ready: s.ready, Live: s.live, Slow: s.slow, RunTokens: auth.NewRunTokens(s.runKey, nil),
		Connections:       web.Connections{Total: mostConnections(), PerAddress: s.config.ConnectionsPerAddress, Trusted: s.config.TrustedProxies},
		RequestsPerSecond: s.config.RequestsPerSecond, Trace: s.traces.Request,
	}
	if s.config.OIDC.Issuer != "" {
		config.Issuer = s.oidcProvider()
	}
	if s.certificate != nil {
		config.TLS = s.certificate.Server()
	}
	s.addPages(&config)
	server, err := web.New(config)
	if err != nil {
		return err
	}
	listener := s.listener
	s.parts.add("the pages", func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }() // ends with Shutdown, and is waited for
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), webDrain)
		defer cancel()
		if err := server.Shutdown(limit); err != nil {
			s.log.Info("requests were cut off at the end", "error", err)
		}
		return <-served
	})
	if s.token != "" && s.config.TokenFile == "" { // an operator with a token file decides who may read it
		if err := shareToken(s.config.StateFolder, listener.Addr().String(), s.token); err != nil {
			s.log.Warn("the command line will not find the token by itself: give it by --token or TIDEWHEEL_TOKEN", "error", err)
		}
	}
	return nil
}

// mostConnections leaves half of the files that this process may open to the rest of the server; 0 if there is no limit.
func mostConnections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur / 2)
}

// ready reports whether the node can do its work; the error names the part that is down.
func (s *Server) ready(ctx context.Context) error {
	if err := s.disk.full(); err != nil { // what else does not answer then is its consequence
		return diskFull(err)
	}
	if s.service != nil {
		if err := s.service.Ready(ctx); err != nil {
			return err
		}
	} else if err := s.partsAnswer(ctx); err != nil {
		return err
	}
	if s.engine != nil {
		if err := s.engine.check(); err != nil {
			return &service.Error{Kind: service.KindUnavailable, Code: "unavailable", Detail: err.Error(), Err: err}
		}
	}
	return nil
}
