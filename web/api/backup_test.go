package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
)

func TestBackupIsStreamed(t *testing.T) {
	s := newSite(t, service.Config{Backup: func(_ context.Context, to io.Writer, parts service.BackupParts) error {
		_, err := fmt.Fprintf(to, "everything %+v", parts)
		return err
	}})
	got := s.ask("GET", "/api/v1/backup", "").is(http.StatusOK)
	if string(got.body) != "everything {Logs:true Secrets:true}" || got.header.Get("Content-Type") != "application/zstd" ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), `attachment; filename="tidewheel-20`) {
		t.Errorf("got %q with %v", got.body, got.header)
	}
	got = s.ask("GET", "/api/v1/backup?logs=false&keys=false", "").is(http.StatusOK)
	if string(got.body) != "everything {Logs:false Secrets:false}" {
		t.Errorf("got %q", got.body)
	}
}

func TestABackupThatBreaksOffIsCutOff(t *testing.T) {
	s := newSite(t, service.Config{Backup: func(_ context.Context, to io.Writer, _ service.BackupParts) error {
		_, err := to.Write(make([]byte, 1<<20))
		return errors.Join(err, errors.New("the disk broke"))
	}})
	for range 2 { // and the next one may be made
		response, err := http.Get(s.server.URL + "/api/v1/backup")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("it ends with %v", err)
		}
		response.Body.Close()
	}
}

func TestOneBackupAtATime(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	s := newSite(t, service.Config{Backup: func(context.Context, io.Writer, service.BackupParts) error {
		close(began)
		<-end
		return nil
	}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ask("GET", "/api/v1/backup", "").is(http.StatusOK)
	}()
	select {
	case <-began:
	case <-done:
		t.Fatal("no backup was begun")
	}
	s.ask("GET", "/api/v1/backup", "").problem(http.StatusConflict, "backup_under_way")
	close(end)
	<-done
}

func TestAServerWithoutBackupsSaysWhatToDo(t *testing.T) {
	s := newSite(t, service.Config{NoBackup: func(context.Context) (string, error) { return "use the database's own", nil }})
	if got := s.ask("GET", "/api/v1/backup", "").problem(http.StatusConflict, "no_backup"); !strings.Contains(got.Detail, "use the database's own") {
		t.Errorf("got %q", got.Detail)
	}
}
