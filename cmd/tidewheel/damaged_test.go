package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// overwriteAPage spoils the last page of a database that is part of a tree.
func overwriteAPage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := len(data) - page; at > 0; at -= page {
		if data[at] == 0x0a || data[at] == 0x0d { // a leaf of an index or of a table
			copy(data[at:at+page], bytes.Repeat([]byte{0xa5}, page))
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no page was found")
}

func TestServerAndDoctorRefuseADamagedDatabase(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	s.stop()
	doctor := func() (int, string) {
		result := s.run("doctor", "--data", config.Data, "--http", "127.0.0.1:0")
		return result.status, result.out
	}
	if _, out := doctor(); !strings.Contains(out, "is whole") {
		t.Errorf("of a whole one the doctor says %s", out)
	}
	overwriteAPage(t, filepath.Join(config.Data, storeFolder, storeFile))
	if status, out := doctor(); status != exitFailed || !strings.Contains(out, "is damaged: restore a backup") {
		t.Errorf("the doctor: exit %d, %s", status, out)
	}
	again, err := NewServer(config, testLog(t), &safeBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	err = again.Start(t.Context())
	if err == nil {
		_ = again.Close(context.WithoutCancel(t.Context()))
	}
	if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "is damaged: restore a backup") {
		t.Errorf("the server starts with %v", err)
	}
}

// damagedPing is a store that was found to be damaged while the server ran.
type damagedPing struct{ store }

func (damagedPing) Jobs() engine.Definitions[spec.Job] { return nil }

func (damagedPing) DAGs() engine.Definitions[spec.DAG] { return nil }

func (damagedPing) Ping(context.Context) error {
	return fmt.Errorf("sqlite: ping: %w", engine.ErrDamaged)
}

func TestDamagedDatabaseIsNamedToUsers(t *testing.T) {
	err := service.New(storeOfUsers{damagedPing{}}, serviceBlobs{}, (*jetstream.Queue)(nil), slog.New(slog.DiscardHandler), service.Config{}).Ready(t.Context())
	var problem *service.Error
	if !errors.As(err, &problem) || problem.Code != "database_damaged" || !strings.Contains(problem.Detail, "restore a backup") {
		t.Errorf("readyz says %v", err)
	}
}
