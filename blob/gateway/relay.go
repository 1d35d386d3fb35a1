package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

// handshakeTime is how long a client may take to agree on keys.
const handshakeTime = 10 * time.Second

// relay passes on, without TLS, what clients send with TLS. The library underneath can speak TLS itself, but reads its
// certificate once. Bytes are passed on as they are, because clients sign their requests.
type relay struct {
	listener net.Listener
	tls      *tls.Config
	target   string
	log      *slog.Logger

	stopping context.Context
	stop     context.CancelFunc
	room     chan struct{}
	running  sync.WaitGroup
}

// startBehindRelay starts a gateway on loopback, and a relay that listens for it.
func startBehindRelay(ctx context.Context, config Config) (*Gateway, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("gateway: listen on %s: %w; stop what listens there or choose another address", config.Listen, ErrAddressInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	inner := config
	inner.Listen, inner.TLS = DefaultListen, nil
	gateway, err := Start(ctx, inner)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	r := &relay{listener: listener, tls: config.TLS, target: gateway.address, log: config.Logger, room: make(chan struct{}, maxConnections)}
	r.stopping, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.running.Go(r.serve)
	gateway.relay = r
	return gateway, nil
}

// serve takes connections until close.
func (r *relay) serve() {
	for {
		conn, err := r.listener.Accept()
		switch {
		case r.stopping.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case err != nil:
			r.log.Warn("s3 gateway: accept", "error", err) // such as too many open files: the next one may go
			select {
			case <-r.stopping.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		select {
		case r.room <- struct{}{}:
			r.running.Go(func() {
				defer func() { <-r.room }()
				r.carry(conn)
			})
		default:
			_ = conn.Close() // too many: the client tries again
		}
	}
}

// carry passes a connection's bytes on until either side ends it.
func (r *relay) carry(conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(r.stopping, func() { _ = conn.Close() })()
	outer := tls.Server(conn, r.tls)
	limit, cancel := context.WithTimeout(r.stopping, handshakeTime)
	err := outer.HandshakeContext(limit)
	cancel()
	if err != nil {
		r.log.Debug("s3 gateway: TLS", "error", err, "remote", conn.RemoteAddr())
		return
	}
	inner, err := (&net.Dialer{Timeout: handshakeTime}).DialContext(r.stopping, "tcp", r.target)
	if err != nil {
		r.log.Warn("s3 gateway: pass on", "error", err)
		return
	}
	defer inner.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(outer, inner)
		_ = outer.CloseWrite() // an answer is over; what the client still sends is refused below
		_ = conn.Close()
	})
	_, _ = io.Copy(inner, outer)
	_ = inner.(*net.TCPConn).CloseWrite() // the client sends no more; the answer may still come
	back.Wait()
}

// close ends all connections and waits for them.
func (r *relay) close() {
	r.stop()
	_ = r.listener.Close()
	r.running.Wait()
}
