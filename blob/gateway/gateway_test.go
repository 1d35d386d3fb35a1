package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/blob/gateway"
)

// The HTTP library keeps one clock for the life of the process, and its worker
// pools look only every ten seconds whether they have been stopped.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// start runs a gateway for the length of a test. Only one runs at a time, so no
// test here is parallel.
func start(t *testing.T, config gateway.Config) *gateway.Gateway {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	started, err := gateway.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	return started
}

func client(t *testing.T, server *gateway.Gateway, secret string) *s3.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(server.Endpoint()),
		Region:       server.Region(),
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(server.Credentials().AccessKey, secret, ""),
		HTTPClient:   &http.Client{Transport: transport},
	})
}

func put(t *testing.T, c *s3.Client, bucket, key, body string) {
	t.Helper()
	if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c *s3.Client, bucket, key string) string {
	t.Helper()
	out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func makeBucket(t *testing.T, c *s3.Client, bucket string) {
	t.Helper()
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
}

func TestDataAndCredentialsSurviveARestart(t *testing.T) {
	for _, avoid := range []bool{false, true} {
		t.Run(fmt.Sprintf("avoid attributes %v", avoid), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			first := start(t, gateway.Config{Dir: dir, AvoidAttributes: avoid})
			c := client(t, first, first.Credentials().SecretKey)
			makeBucket(t, c, "kept")
			put(t, c, "kept", "a/b", "content")
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, "s3.json"))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("credentials have mode %v, want 0600", info.Mode().Perm())
			}
			// A data folder may be moved while nothing runs.
			moved := filepath.Join(t.TempDir(), "elsewhere")
			if err := os.Rename(dir, moved); err != nil {
				t.Fatal(err)
			}
			second := start(t, gateway.Config{Dir: moved})
			if second.Credentials() != first.Credentials() {
				t.Error("the credentials changed")
			}
			c = client(t, second, first.Credentials().SecretKey)
			if got := get(t, c, "kept", "a/b"); got != "content" {
				t.Errorf("got %q", got)
			}
			head, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("kept"), Key: aws.String("a/b")})
			if err != nil || aws.ToString(head.ETag) == "" {
				t.Errorf("the object lost its metadata: etag %q, %v", aws.ToString(head.ETag), err)
			}
			_, err = os.Stat(filepath.Join(moved, "s3-meta"))
			if (err == nil) != avoid {
				t.Errorf("metadata folder: %v, with avoided attributes %v", err, avoid)
			}
		})
	}
}

func TestWideModeOfCredentialsIsNarrowed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s3.json")
	if err := os.WriteFile(path, []byte(`{"access_key":"a-key","secret_key":"a-secret"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	server := start(t, gateway.Config{Dir: dir})
	if got := server.Credentials(); got != (gateway.Credentials{AccessKey: "a-key", SecretKey: "a-secret"}) {
		t.Errorf("got %v", got)
	}
	if text := fmt.Sprint(server.Credentials()); strings.Contains(text, "a-secret") {
		t.Errorf("the secret is printed: %s", text)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
}

func TestBrokenCredentialsAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s3.json"), []byte(`{"access_key":"a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := gateway.Start(t.Context(), gateway.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "s3.json") {
		t.Fatalf("got %v", err)
	}
}

func TestWrongSecretIsRefused(t *testing.T) {
	server := start(t, gateway.Config{Dir: t.TempDir()})
	_, err := client(t, server, "wrong").ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("any")})
	var refused smithy.APIError
	if !errors.As(err, &refused) || refused.ErrorCode() != "SignatureDoesNotMatch" {
		t.Fatalf("got %v", err)
	}
	c := client(t, server, server.Credentials().SecretKey)
	makeBucket(t, c, "any")
	put(t, c, "any", "key", "content")
	response, err := http.Get(server.Endpoint() + "/any/key")
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Fatalf("without a signature: %s", response.Status)
	}
}

func TestWorkingDirectoryIsLeftAlone(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, gateway.Config{Dir: t.TempDir()})
	c := client(t, server, server.Credentials().SecretKey)
	makeBucket(t, c, "still")
	if after, err := os.Getwd(); err != nil || after != before {
		t.Errorf("the process went from %s to %s, %v", before, after, err)
	}
	// Neither does the gateway mind where the process goes.
	t.Chdir(t.TempDir())
	put(t, c, "still", "key", "here")
	if got := get(t, c, "still", "key"); got != "here" {
		t.Errorf("got %q", got)
	}
	t.Chdir(before)
	if got := get(t, c, "still", "key"); got != "here" {
		t.Errorf("got %q", got)
	}
	entries, err := filepath.Glob(".sgwtmp*")
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the working directory: %v, %v", entries, err)
	}
}

func TestCloseFreesThePortAndAnotherMayStart(t *testing.T) {
	first := start(t, gateway.Config{Dir: t.TempDir()})
	if _, err := gateway.Start(t.Context(), gateway.Config{Dir: t.TempDir()}); err == nil {
		t.Fatal("two gateways in one process")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(first.Endpoint(), "http://")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_, err = gateway.Start(t.Context(), gateway.Config{Dir: t.TempDir(), Listen: address})
	if !errors.Is(err, gateway.ErrAddressInUse) {
		t.Fatalf("got %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, gateway.Config{Dir: t.TempDir(), Listen: address})
	if again.Endpoint() != first.Endpoint() {
		t.Errorf("listens on %s, asked for %s", again.Endpoint(), address)
	}
}

func TestCopiesStayInsideTheDataFolder(t *testing.T) {
	dir := t.TempDir()
	server := start(t, gateway.Config{Dir: dir})
	c := client(t, server, server.Credentials().SecretKey)
	makeBucket(t, c, "bucket")
	put(t, c, "bucket", "from", "0123456789")
	_, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String("bucket"), Key: aws.String("to"), CopySource: aws.String("bucket/from")})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, c, "bucket", "to"); got != "0123456789" {
		t.Errorf("got %q", got)
	}
	for _, source := range []string{"..%2Fs3.json", "../s3.json", "bucket/../../s3.json", "bucket/%2e%2e/%2e%2e/s3.json"} {
		_, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String("bucket"), Key: aws.String("stolen"), CopySource: &source})
		if err == nil {
			t.Errorf("copied %s: %s", source, get(t, c, "bucket", "stolen"))
		}
	}
}

func TestMultipartUploadAndCopyOfParts(t *testing.T) {
	server := start(t, gateway.Config{Dir: t.TempDir()})
	c := client(t, server, server.Credentials().SecretKey)
	makeBucket(t, c, "bucket")
	whole := bytes.Repeat([]byte("0123456789abcdef"), 512<<10) // 8 MiB
	put(t, c, "bucket", "from", string(whole))
	bucket, key := aws.String("bucket"), aws.String("to")
	made, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	part, err := c.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{
		Bucket: bucket, Key: key, UploadId: made.UploadId, PartNumber: aws.Int32(1),
		CopySource: aws.String("bucket/from"), CopySourceRange: aws.String(fmt.Sprintf("bytes=16-%d", 5<<20+15)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
		Bucket: bucket, Key: key, UploadId: made.UploadId,
		MultipartUpload: completed(*part.CopyPartResult.ETag),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, c, "bucket", "to"); got != string(whole[16:5<<20+16]) {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if server, err := gateway.Start(ctx, gateway.Config{Dir: t.TempDir()}); err == nil {
		t.Error("started with a cancelled context")
		_ = server.Close()
	}
	start(t, gateway.Config{Dir: t.TempDir()}) // the failed one has left the place
}

func completed(etag string) *types.CompletedMultipartUpload {
	return &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: &etag, PartNumber: aws.Int32(1)}}}
}
