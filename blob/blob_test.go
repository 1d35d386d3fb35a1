package blob

import (
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/blob/gateway"
)

// server is the one gateway of this test process.
var server *gateway.Gateway

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "blob-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if server, err = gateway.Start(context.Background(), gateway.Config{Dir: dir}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The HTTP library of the gateway keeps two goroutines asleep by design.
	if err := goleak.Find(
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// buckets holds the bucket of each test, by the test.
var buckets sync.Map

// config names a bucket of the test's own, the same one each time.
func config(t testing.TB) Config {
	bucket, _ := buckets.LoadOrStore(t, "test-"+strings.ToLower(crand.Text()))
	return Config{
		Endpoint: server.Endpoint(), Region: server.Region(), PathStyle: true,
		AccessKey: server.Credentials().AccessKey, SecretKey: server.Credentials().SecretKey,
		Bucket: bucket.(string),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func openStore(t testing.TB) *Store {
	t.Helper()
	store, err := Open(t.Context(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// keys lists all objects of a store but its marker, and its multipart uploads.
func keys(t testing.TB, s *Store) (objects, uploads []string) {
	t.Helper()
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range page.Contents {
			if *found.Key != s.prefix+markerKey {
				objects = append(objects, *found.Key)
			}
		}
	}
	listed, err := s.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &s.bucket})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range listed.Uploads {
		uploads = append(uploads, aws.ToString(found.Key))
	}
	return objects, uploads
}

// wantNothing fails the test when an upload has left something.
func wantNothing(t testing.TB, s *Store) {
	t.Helper()
	if objects, uploads := keys(t, s); len(objects)+len(uploads) > 0 {
		t.Errorf("left behind: objects %v, uploads %v", objects, uploads)
	}
}

// noise is a reader of so many bytes that no two seeds share.
func noise(seed byte, size int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), size)
}

func digestOf(t testing.TB, r io.Reader) string {
	t.Helper()
	digest := sha256.New()
	if _, err := io.Copy(digest, r); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(digest.Sum(nil))
}

func newServer(t *testing.T, handler http.Handler) (endpoint string) {
	t.Helper()
	front := httptest.NewUnstartedServer(handler)
	front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	front.Start()
	t.Cleanup(front.Close)
	return front.URL
}
