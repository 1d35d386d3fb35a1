package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two Tidewheels with different stores are kept apart at their start, whichever part they would share.
func TestPartsOfAnotherTidewheelAreRefused(t *testing.T) {
	config := serverConfigFor(t)
	config.NATSListen, config.S3Listen = "127.0.0.1:0", "127.0.0.1:0"
	first := startServer(t, config)
	token, err := os.ReadFile(filepath.Join(config.Data, natsTokenFile))
	if err != nil {
		t.Fatal(err)
	}
	keys := first.server.gateway.Credentials()

	second := serverConfigFor(t)
	second.NATSURL, second.NATSCredentials = first.server.nats.URL(), strings.TrimSpace(string(token))
	second.S3Endpoint, second.S3AccessKey, second.S3SecretKey = first.server.gateway.Endpoint(), keys.AccessKey, keys.SecretKey
	refuse := func(words string) {
		t.Helper()
		server, err := NewServer(second, testLog(t), io.Discard)
		if err == nil {
			err = server.Start(t.Context())
		}
		if err == nil {
			_ = server.Close(context.WithoutCancel(t.Context()))
			t.Fatalf("it started; want %q", words)
		}
		if text := explainError(err); exitStatus(err) != exitRefused || !strings.Contains(text, words) || strings.Contains(text, "\n") {
			t.Errorf("exit %d and %q; want exit %d and words like %q", exitStatus(err), text, exitRefused, words)
		}
	}
	refuse("--s3-bucket: ")
	second.S3Bucket = "another"
	refuse("serves another Tidewheel, with another store")

	// An executor has no store to compare with: it sees whose the bucket is, as the one above has claimed it, and whom the
	// NATS serves.
	second.Data, second.Roles = t.TempDir(), []string{roleExecutor}
	second.TaskKeysFile = filepath.Join(first.config.Data, publicTaskKeys)
	refuse("give the addresses of one Tidewheel")
	second.S3Bucket = first.server.config.S3Bucket
	server, err := NewServer(second, testLog(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	if err := server.Start(t.Context()); err != nil {
		t.Errorf("an executor of the first one's: %v", err)
	}
}
