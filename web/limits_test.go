package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/web"
)

// What a sender may use of a server before it has asked for anything: time, and room for headers.
func TestHeadersAndIdleConnectionsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		sent     string
		answered int // 0: closed without an answer
		within   time.Duration
	}{
		"nothing is sent":                 {"", 0, 11 * time.Second},
		"half a header is sent":           {"GET /livez HTTP/1.1\r\nHost: x\r\nX-A: ", 0, 11 * time.Second},
		"a header of 100 KiB":             {"GET /livez HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", 431, time.Second},
		"a hundred thousand headers":      {"GET /livez HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("a: b\r\n", 100_000) + "\r\n", 431, time.Second},
		"an address of 100 KiB":           {"GET /livez?" + strings.Repeat("a", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, time.Second},
		"nothing more after an answer":    {"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 200, 121 * time.Second},
		"two lengths, as smugglers do":    {"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc", 400, time.Second},
		"a length and chunks, as they do": {"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onPipes(t, web.Connections{}, func(t *testing.T, p *pipes) {
				client := p.dial("203.0.113.9:1")
				began := time.Now()
				go func() { _, _ = fmt.Fprint(client, c.sent) }() // the server need not take all of it
				reader := bufio.NewReader(client)
				answer, err := http.ReadResponse(reader, nil)
				switch {
				case c.answered == 0 && err == nil:
					t.Errorf("answered %s", answer.Status)
				case c.answered != 0 && err != nil:
					t.Fatalf("not answered: %v", err)
				case c.answered != 0 && answer.StatusCode != c.answered:
					t.Errorf("answered %s, want %d", answer.Status, c.answered)
				}
				if answer != nil {
					_, _ = io.Copy(io.Discard, answer.Body)
				}
				if _, err := io.Copy(io.Discard, reader); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the connection was not closed: %v", err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("closed after %s, want %s", took, c.within)
				}
				client.Close()
			})
		})
	}
}
