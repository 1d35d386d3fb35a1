package web

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Connections bounds how many connections the server keeps open, so that one sender cannot take them all, and all
// senders together cannot take the files that the server needs for its own work. Zero fields bound nothing.
type Connections struct {
	Total      int
	PerAddress int // of one IPv4 address, or of one /64 network of IPv6
	// Trusted are not bounded by PerAddress: proxies, whose connections are many users'. Loopback always is trusted.
	Trusted []netip.Prefix
}

// refusal is the answer to a connection that is one too many.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 10\r\nContent-Length: %d\r\n\r\n%s"

// refusalEvery is how often the log says that connections are refused.
const refusalEvery = time.Minute

// boundedListener closes the connections that are too many as they come.
type boundedListener struct {
	net.Listener
	bounds Connections
	log    *slog.Logger

	mu      sync.Mutex
	total   int
	of      map[netip.Addr]int
	refused int       // since the log said so
	said    time.Time // when it did
}

func newBoundedListener(listener net.Listener, bounds Connections, log *slog.Logger) *boundedListener {
	return &boundedListener{Listener: listener, bounds: bounds, log: log, of: make(map[netip.Addr]int)}
}

// Accept returns the next connection that is within the bounds.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, counted := senderOf(conn.RemoteAddr().String())
		if why := l.enter(counted, l.bounds.trusts(address)); why != "" {
			_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // a new connection takes this at once
			_, _ = fmt.Fprintf(conn, refusal, len(why), why)
			_ = conn.Close()
			continue
		}
		return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { l.leave(counted) })}, nil
	}
}

// senderOf returns the address of a connection, and what it is counted by: a network of IPv6 counts as one sender,
// because each of its hosts has as many addresses as it likes.
func senderOf(remote string) (address, counted netip.Addr) {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}, netip.Addr{} // not of a network
	}
	address = at.Addr().Unmap().WithZone("")
	if network, err := address.Prefix(64); err == nil && address.Is6() {
		return address, network.Addr()
	}
	return address, address
}

// enter counts a connection, or says why there may not be another.
func (l *boundedListener) enter(address netip.Addr, trusted bool) (refused string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.bounds.Total > 0 && l.total >= l.bounds.Total:
		refused = fmt.Sprintf("this server has %d open connections, which is its limit: try again later\n", l.total)
	case l.bounds.PerAddress > 0 && l.of[address] >= l.bounds.PerAddress && !trusted:
		refused = fmt.Sprintf("this address has %d open connections to this server, which is the limit: close some, "+
			"or have the server started with a higher --connections-per-address\n", l.of[address])
	default:
		l.total++
		l.of[address]++
		return ""
	}
	l.refused++
	if now := time.Now(); now.Sub(l.said) >= refusalEvery {
		l.log.Warn("connections are refused: too many are open", "refused", l.refused, "last", address, "of_it", l.of[address], "open", l.total)
		l.refused, l.said = 0, now
	}
	return refused
}

func (c *Connections) trusts(address netip.Addr) bool {
	if !address.IsValid() || address.IsLoopback() {
		return true
	}
	for _, network := range c.Trusted {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

func (l *boundedListener) leave(address netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.of[address]--; l.of[address] == 0 {
		delete(l.of, address)
	}
}

// boundedConn is counted until it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// CloseWrite lets net/http say that an answer is over before the connection is, so that a client that still sends
// reads it.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
