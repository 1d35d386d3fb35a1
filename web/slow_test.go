package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// pipes is a network without a kernel, on which time is that of the test.
type pipes struct {
	t     testing.TB
	conns chan net.Conn
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// pipe is the server's end of a connection from an address.
type pipe struct {
	net.Conn
	from net.Addr
}

func (p pipe) RemoteAddr() net.Addr { return p.from }

// dial connects from an address, and gives up reading after an hour, which no test takes.
func (p *pipes) dial(from string) net.Conn {
	p.t.Helper()
	address, err := net.ResolveTCPAddr("tcp", from)
	if err != nil {
		p.t.Fatal(err)
	}
	client, server := net.Pipe()
	p.t.Cleanup(func() { client.Close() })
	if err := client.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		p.t.Fatal(err)
	}
	p.conns <- pipe{server, address}
	return client
}

// onPipes runs a test with a server, in a time of its own.
func onPipes(t *testing.T, bounds web.Connections, test func(t *testing.T, p *pipes)) {
	t.Helper()
	onPipesWith(t, func(config *web.Config) { config.Connections = bounds }, test)
}

func onPipesWith(t *testing.T, change func(*web.Config), test func(t *testing.T, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		world := webtest.New(t)
		config := web.Config{
			Service: world.Service, Guard: auth.NewGuard(world.Access), Log: slog.New(slog.DiscardHandler),
			Pages: func(e *echo.Echo, _ []byte) {
				e.POST("/theme", func(c echo.Context) error {
					n, err := io.Copy(io.Discard, c.Request().Body)
					if err != nil {
						return err
					}
					return c.JSON(http.StatusOK, n)
				})
				e.POST("/jobs/new/check", func(c echo.Context) error { return c.String(http.StatusOK, "done") })
			},
		}
		change(&config)
		server, err := web.New(config)
		if err != nil {
			t.Fatal(err)
		}
		p := &pipes{t: t, conns: make(chan net.Conn), ended: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(p) }()
		test(t, p)
		if err := server.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

const length100 = "Content-Length: 100\r\n"

func TestBodyThatNeverComesIsNotAwaited(t *testing.T) {
	const authorized = "Authorization: Bearer " + token + "\r\n"
	for name, c := range map[string]struct {
		request  string
		trickle  time.Duration // a byte comes this often; 0: none comes
		answered int           // 0: it may end without an answer
		within   time.Duration // until the answer
		closed   time.Duration // until the connection is closed
	}{
		"without credentials":                 {"POST /api/v1/jobs HTTP/1.1\r\n" + length100, 0, 401, 0, 2 * time.Second},
		"without credentials, chunked":        {"POST /api/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 0, 401, 0, 2 * time.Second},
		"without credentials, large":          {"POST /api/v1/binaries/a/versions HTTP/1.1\r\nContent-Length: 2000000000\r\n", 0, 401, 0, 2 * time.Second},
		"with another token":                  {"POST /api/v1/jobs HTTP/1.1\r\nAuthorization: Bearer x\r\n" + length100, 0, 401, 0, 2 * time.Second},
		"of a page, without a session":        {"POST /theme HTTP/1.1\r\n" + length100, 0, 303, 0, 2 * time.Second},
		"without a run's token":               {"PUT /api/v1/effects/a HTTP/1.1\r\n" + length100, 0, 401, 0, 2 * time.Second},
		"of a login":                          {"POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n" + length100, 0, 401, 10 * time.Second, 12 * time.Second},
		"of a login that trickles":            {"POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n" + length100, time.Second, 401, 11 * time.Second, 13 * time.Second},
		"where none is wanted":                {"GET /livez HTTP/1.1\r\n" + length100, 0, 200, 2 * time.Second, 3 * time.Second},
		"with the token":                      {"POST /theme HTTP/1.1\r\n" + authorized + length100, 0, 408, time.Minute, 62 * time.Second},
		"with the token, trickling":           {"POST /theme HTTP/1.1\r\n" + authorized + length100, 50 * time.Second, 408, 2 * time.Minute, 3 * time.Minute},
		"with the token, not read":            {"POST /jobs/new/check HTTP/1.1\r\n" + authorized + length100, 0, 200, 2 * time.Second, 3 * time.Second},
		"of JSON, with the token":             {"PUT /api/v1/binaries/a/aliases/b HTTP/1.1\r\nContent-Type: application/json\r\n" + authorized + length100, 0, 408, time.Minute, 62 * time.Second},
		"of an upload that stalls":            {"POST /api/v1/binaries/a/versions HTTP/1.1\r\n" + authorized + "Content-Length: 2000000000\r\n", 0, 408, time.Minute, 62 * time.Second},
		"of an upload that trickles for ever": {"POST /api/v1/binaries/a/versions HTTP/1.1\r\n" + authorized + "Content-Length: 2000000000\r\n", 50 * time.Second, 408, 2 * time.Minute, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			onPipes(t, web.Connections{}, func(t *testing.T, p *pipes) {
				client := p.dial("203.0.113.9:1")
				began := time.Now()
				fmt.Fprint(client, c.request+"Host: tidewheel.example\r\n\r\n")
				var sending sync.WaitGroup
				defer sending.Wait()
				defer client.Close()
				if c.trickle > 0 {
					sending.Go(func() {
						for {
							<-time.After(c.trickle) // of the bubble
							if _, err := client.Write([]byte("x")); err != nil {
								return
							}
						}
					})
				}
				answer, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatalf("after %s: %v", time.Since(began), err)
				}
				if took := time.Since(began); answer.StatusCode != c.answered || took > c.within {
					t.Errorf("answered %d after %s, want %d within %s", answer.StatusCode, took, c.answered, c.within)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("the connection was not closed: %v", err)
				}
				if took := time.Since(began); took > c.closed {
					t.Errorf("closed after %s, want %s at most", took, c.closed)
				}
			})
		})
	}
}

func TestSlowUploadThatMakesProgressIsAccepted(t *testing.T) {
	onPipes(t, web.Connections{}, func(t *testing.T, p *pipes) {
		const pieces, piece = 1200, 4 << 10
		client := p.dial("203.0.113.9:1")
		fmt.Fprintf(client, "POST /api/v1/binaries/a/versions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", token, pieces*piece)
		began := time.Now()
		if _, err := fmt.Fprint(client, "#!/bin/sh\n"+strings.Repeat("#", piece-10)); err != nil {
			t.Fatal(err)
		}
		for range pieces - 1 {
			<-time.After(2 * time.Second) // of the bubble
			if _, err := client.Write([]byte(strings.Repeat("#", piece))); err != nil {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
		}
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil || answer.StatusCode != http.StatusCreated {
			t.Fatalf("after %s: %+v, %v", time.Since(began), answer, err)
		}
		answer.Body.Close()
		client.Close()
	})
}

func TestConnectionServesOnAfterBodies(t *testing.T) {
	onPipes(t, web.Connections{}, func(t *testing.T, p *pipes) {
		client := p.dial("203.0.113.9:1")
		reader := bufio.NewReader(client)
		for range 3 {
			fmt.Fprintf(client, "POST /theme HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 5\r\n\r\nhello", token)
			answer, err := http.ReadResponse(reader, nil)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%+v, %v", answer, err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			<-time.After(100 * time.Second) // of the bubble
		}
		client.Close()
	})
}

func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	onPipes(t, web.Connections{PerAddress: 3, Total: 12}, func(t *testing.T, p *pipes) {
		ask := func(client net.Conn) (status int, detail string) {
			t.Helper()
			go func() { _, _ = fmt.Fprint(client, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n") }() // a refused connection takes none
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(answer.Body)
			return answer.StatusCode, string(text)
		}
		var of9 []net.Conn
		for range 3 {
			client := p.dial("203.0.113.9:1")
			of9 = append(of9, client)
			if status, _ := ask(client); status != 200 {
				t.Fatalf("within the bound: %d", status)
			}
		}
		if status, detail := ask(p.dial("203.0.113.9:2")); status != 503 || !strings.Contains(detail, "--connections-per-address") {
			t.Errorf("the fourth of an address: %d %s", status, detail)
		}
		if status, _ := ask(p.dial("203.0.113.10:1")); status != 200 {
			t.Errorf("of another address: %d", status)
		}
		of9[0].Close()
		synctest.Wait()
		if status, _ := ask(p.dial("203.0.113.9:3")); status != 200 {
			t.Errorf("after one was closed: %d", status)
		}
		for i := range 8 {
			if status, detail := ask(p.dial("127.0.0.1:1")); (status == 200) != (i+4 < 12) {
				t.Errorf("connection %d in all, of loopback: %d %s", i+5, status, detail)
			}
		}
		if status, detail := ask(p.dial("203.0.113.77:1")); status != 503 || !strings.Contains(detail, "12 open connections") {
			t.Errorf("past the bound of all: %d %s", status, detail)
		}
	})
}
