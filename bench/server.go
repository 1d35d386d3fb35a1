package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// server is a tidewheel process on a data folder.
type server struct {
	command *exec.Cmd
	url     string
	log     *os.File
	exited  chan error
}

// startServer starts the server and returns how long it took until it reported that it was ready.
func startServer(ctx context.Context, binary, data string, flags ...string) (*server, time.Duration, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0") // a free port; the server takes it a moment later
	if err != nil {
		return nil, 0, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, 0, err
	}
	log, err := os.Create(filepath.Join(filepath.Dir(data), "server.log"))
	if err != nil {
		return nil, 0, err
	}
	s := &server{url: "http://" + address, log: log, exited: make(chan error, 1)}
	arguments := append([]string{"server", "--data", data, "--http", address, "--auth", "off"}, flags...)
	s.command = exec.CommandContext(ctx, binary, arguments...)
	s.command.Stdout, s.command.Stderr = log, log
	s.command.Cancel = func() error { return s.command.Process.Signal(syscall.SIGTERM) }
	s.command.WaitDelay = time.Minute
	began := time.Now()
	if err := s.command.Start(); err != nil {
		return nil, 0, fmt.Errorf("start %s (make build makes it): %w", binary, err)
	}
	go func() { s.exited <- s.command.Wait() }()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-s.exited:
			text, _ := os.ReadFile(log.Name())
			return nil, 0, fmt.Errorf("the server ended: %w\n%s", err, text)
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-ticker.C:
			if s.ready(ctx) {
				return s, time.Since(began), nil
			}
		}
	}
}

func (s *server) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (s *server) pid() int { return s.command.Process.Pid }

// stop ends the server in good order.
func (s *server) stop() error {
	defer s.log.Close()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-s.exited:
		return err
	case <-time.After(time.Minute):
		return errors.Join(errors.New("the server did not end within a minute"), s.command.Process.Kill())
	}
}

// call makes a request of the API and decodes the answer into out, unless that is nil.
func (s *server) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	switch value := in.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(value)
	default:
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1"+path, body)
	if err != nil {
		return err
	}
	if _, raw := in.([]byte); raw {
		request.Header.Set("Content-Type", "application/octet-stream")
	} else if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// push uploads a program.
func (s *server) push(ctx context.Context, name, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, "/binaries/"+name+"/versions", text, nil)
}

// jobs creates n jobs that differ in nothing but their names: prefix0, prefix1, …
func (s *server) jobs(ctx context.Context, prefix string, n int, definition map[string]any) error {
	for i := range n {
		definition["name"] = prefix + strconv.Itoa(i)
		if err := s.call(ctx, http.MethodPost, "/jobs", definition, nil); err != nil {
			return err
		}
	}
	return nil
}
