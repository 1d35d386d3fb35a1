package ui_test

import (
	"context"
	"flag"
	"net"
	"os"
	"os/signal"
	"testing"
)

var serve = flag.String("serve", "", "address on which TestServe serves the pages with sample data, until interrupted")

// TestServe is for looking at the pages: go test ./web/ui -run TestServe -count=1 -timeout=0 -serve 127.0.0.1:8099
func TestServe(t *testing.T) {
	if *serve == "" {
		t.Skip("only with -serve ADDRESS")
	}
	site := newSite(t)
	site.fill(t)
	site.fillDAGs(t)
	site.fillLargeDAGs(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", *serve)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- site.server.Serve(listener) }()
	t.Logf("serving at http://%s", listener.Addr())
	select {
	case err := <-served:
		t.Fatal(err)
	case <-ctx.Done():
	}
	if err := site.server.Shutdown(context.WithoutCancel(ctx)); err != nil {
		t.Log(err)
	}
	<-served
}
