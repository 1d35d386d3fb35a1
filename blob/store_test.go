package blob

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

func TestOpenMakesTheBucketOnce(t *testing.T) {
	first, second := openStore(t), openStore(t)
	if first.bucket != second.bucket {
		t.Fatal("the test did not open the same bucket twice")
	}
	if err := second.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpenConcurrently(t *testing.T) {
	failed := make(chan error)
	for range 4 {
		go func() {
			store, err := Open(t.Context(), config(t))
			if err == nil {
				store.Close()
			}
			failed <- err
		}()
	}
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*Config)
		is     error
		says   string
	}{
		"wrong secret":     {func(c *Config) { c.SecretKey = "wrong" }, ErrCredentials, "check the S3 access key"},
		"wrong key":        {func(c *Config) { c.AccessKey = "wrong" }, ErrCredentials, "check the S3 access key"},
		"nobody there":     {func(c *Config) { c.Endpoint = nobody }, ErrUnreachable, nobody},
		"not a URL":        {func(c *Config) { c.Endpoint = "localhost:9000" }, nil, "is not a URL"},
		"half credentials": {func(c *Config) { c.SecretKey = "" }, nil, "only one is set"},
		"bad bucket name":  {func(c *Config) { c.Bucket = "Bad_Name" }, nil, "Bad_Name"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := config(t)
			test.change(&changed)
			store, err := Open(t.Context(), changed)
			if err == nil {
				store.Close()
				t.Fatal("opened")
			}
			if test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenTakesCredentialsFromTheEnvironment(t *testing.T) {
	fromEnvironment := config(t)
	t.Setenv("AWS_ACCESS_KEY_ID", fromEnvironment.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", fromEnvironment.SecretKey)
	fromEnvironment.AccessKey, fromEnvironment.SecretKey = "", ""
	store, err := Open(t.Context(), fromEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
}

func TestForeignBucketIsRefused(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	if err := store.putSmall(t.Context(), "somebody-elses", []byte("data")); err != nil {
		t.Fatal(err)
	}
	if err := store.remove(t.Context(), markerKey); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), config(t))
	if !errors.Is(err, ErrForeignBucket) || !strings.Contains(err.Error(), "prefix of its own") {
		t.Fatalf("got %v", err)
	}
	// As the error says, a prefix of its own will do.
	prefixed := config(t)
	prefixed.Prefix = "/mine/"
	own, err := Open(t.Context(), prefixed)
	if err != nil {
		t.Fatal(err)
	}
	own.Close()
	for _, content := range []string{`{"product":"other","format":1}`, `not json`} {
		if err := store.putSmall(t.Context(), markerKey, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), config(t)); !errors.Is(err, ErrForeignBucket) {
			t.Errorf("marker %s: got %v", content, err)
		}
	}
	if err := store.putSmall(t.Context(), markerKey, []byte(`{"product":"tidewheel","format":99}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), config(t)); err == nil || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("newer format: got %v", err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, config(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
