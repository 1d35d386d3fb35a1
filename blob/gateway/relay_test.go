package gateway_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tidewheel/tidewheel/blob/gateway"
	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

func TestClientsReachTheGatewayWithTLS(t *testing.T) {
	ca := certstest.New(t)
	cert, key := ca.Issue(time.Now().Add(300*24*time.Hour), "127.0.0.1")
	pair, err := certs.Open(cert, key, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, gateway.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: pair.Server()})
	if !strings.HasPrefix(server.Public(), "https://127.0.0.1:") || !strings.HasPrefix(server.Endpoint(), "http://127.0.0.1:") {
		t.Fatalf("it is at %s and %s", server.Public(), server.Endpoint())
	}
	trusted, err := certs.Authorities(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	t.Cleanup(transport.CloseIdleConnections)
	outside := s3.New(client(t, server, server.Credentials().SecretKey).Options(), func(o *s3.Options) {
		o.BaseEndpoint, o.HTTPClient = aws.String(server.Public()), &http.Client{Transport: transport}
	})
	content := bytes.Repeat([]byte("tide "), 1<<20)
	if _, err := outside.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("quay")}); err != nil {
		t.Fatal(err)
	}
	if _, err := outside.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("quay"), Key: aws.String("a b/ü+%"), Body: bytes.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
	for where, c := range map[string]*s3.Client{"outside": outside, "inside": client(t, server, server.Credentials().SecretKey)} {
		got, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("quay"), Key: aws.String("a b/ü+%")})
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if text, err := io.ReadAll(got.Body); err != nil || !bytes.Equal(text, content) {
			t.Errorf("%s: %d bytes, %v", where, len(text), err)
		}
		_ = got.Body.Close()
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.Public(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(conn); bytes.Contains(answer, []byte("HTTP/1.1")) {
		t.Errorf("without TLS the gateway answers %q", answer)
	}
	if _, err := gateway.Start(t.Context(), gateway.Config{Dir: t.TempDir(), Listen: strings.TrimPrefix(server.Public(), "https://"), TLS: pair.Server()}); !errors.Is(err, gateway.ErrAddressInUse) {
		t.Errorf("on an address that is taken: %v", err)
	}
}
