package chaos

import (
	"context"
	"io"
	"net"
	"os/exec"
	"sync"
	"testing"
)

// network is how parts reach each other, and how a part is cut off.
type network interface {
	// name reports what it is made of.
	name() string
	// host is the address at which a part listens.
	host(part string) string
	// owner is the part that listens for a service.
	owner(service string) string
	// reach returns the address by which one part reaches another's service.
	reach(from, service string) string
	// place makes a command run where the part lives.
	place(part string, command *exec.Cmd)
	// cut makes all that goes from and to a part disappear, until mend.
	cut(part string)
	mend(part string)
	// spoil makes the answers of a service wrong for all that reach it by HTTP, until it is spoilt by nothing.
	spoil(service string, how spoilage)
}

// spoilage is what happens to the answers of an HTTP service.
type spoilage int

const (
	spoilNothing spoilage = iota
	spoilErrors           // each question is answered with 503
	spoilPartly           // each answer breaks off
)

// roads is a network without any rights: each way from a part to a service leads through this process. A way that is
// cut carries nothing and refuses no connection, as if cables were pulled; with every second cut, connections break besides.
type roads struct {
	t        *testing.T
	services map[string]service

	mu    sync.Mutex
	roads map[[2]string]*road
	cuts  map[string]int // how often a part was cut
}

// service is something that a part listens for.
type service struct {
	part, address string
}

func newRoads(t *testing.T, services map[string]service) *roads {
	n := &roads{t: t, services: services, roads: map[[2]string]*road{}, cuts: map[string]int{}}
	t.Cleanup(func() {
		for _, r := range n.roads {
			r.close()
		}
	})
	return n
}

func (n *roads) name() string             { return "connections through the test" }
func (n *roads) host(string) string       { return "127.0.0.1" }
func (n *roads) owner(name string) string { return n.services[name].part }
func (n *roads) place(string, *exec.Cmd)  {}

func (n *roads) reach(from, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := [2]string{from, name}
	if n.roads[key] == nil {
		n.roads[key] = newRoad(n.t, "127.0.0.1", n.services[name].address)
	}
	return n.roads[key].listener.Addr().String()
}

func (n *roads) cut(part string) {
	n.mu.Lock()
	n.cuts[part]++
	breaks := n.cuts[part]%2 == 0
	n.mu.Unlock()
	n.each(part, func(r *road) { r.stall(breaks) })
}

func (n *roads) mend(part string) { n.each(part, (*road).resume) }

func (n *roads) spoil(service string, how spoilage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, r := range n.roads {
		if key[1] == service {
			r.spoil(how)
		}
	}
}

// each calls f for the roads that begin or end at a part.
func (n *roads) each(part string, f func(*road)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, r := range n.roads {
		if key[0] == part || n.services[key[1]].part == part {
			f(r)
		}
	}
}

// road carries the connections from one part to one service.
type road struct {
	target   string
	listener net.Listener
	traffic  sync.WaitGroup

	mu     sync.Mutex
	stalls int           // how many cuts it is under: of either end
	free   chan struct{} // closed while it carries
	open   map[net.Conn]bool
	closed bool
	spoilt spoilage
}

// newRoad makes a way from a free port of host to the target.
func newRoad(t *testing.T, host, target string) *road {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	r := &road{target: target, listener: listener, free: make(chan struct{}), open: map[net.Conn]bool{}}
	close(r.free)
	r.traffic.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			r.traffic.Go(func() { r.carry(from) })
		}
	})
	return r
}

// carry passes bytes both ways until one end closes.
func (r *road) carry(from net.Conn) {
	defer from.Close()
	if !r.hold(from) {
		return
	}
	defer r.drop(from)
	r.wait()
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", r.target)
	if err != nil {
		return
	}
	defer to.Close()
	if !r.hold(to) {
		return
	}
	defer r.drop(to)
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{to, from}, {from, to}} {
		ways.Go(func() {
			buffer := make([]byte, 64<<10)
			for {
				n, err := way[1].Read(buffer)
				r.wait() // what was sent arrives late, and in order
				switch how := r.how(); {
				case how == spoilErrors && way[1] == from && n > 0:
					n, err = 0, io.EOF
					_, _ = io.WriteString(from, unavailable) // who asked may have gone
				case how == spoilPartly && way[1] == to && n > 0:
					n, err = n/2, io.EOF
				}
				if n > 0 {
					if _, failed := way[0].Write(buffer[:n]); failed != nil {
						err = failed
					}
				}
				if err != nil {
					_ = way[0].Close()
					_ = way[1].Close()
					return
				}
			}
		})
	}
	ways.Wait()
}

func (r *road) hold(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[c] = true
	return !r.closed
}

func (r *road) drop(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
}

// wait returns once the road carries.
func (r *road) wait() {
	r.mu.Lock()
	free := r.free
	r.mu.Unlock()
	<-free
}

func (r *road) stall(breaks bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalls++; r.stalls == 1 {
		r.free = make(chan struct{})
	}
	if breaks {
		for c := range r.open {
			_ = c.Close()
		}
	}
}

func (r *road) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalls--; r.stalls == 0 {
		close(r.free)
	}
}

func (r *road) spoil(how spoilage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spoilt = how
}

func (r *road) how() spoilage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spoilt
}

// unavailable is what an S3 says that has too much to do.
const unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/xml\r\nContent-Length: 64\r\nConnection: close\r\n\r\n" +
	"<Error><Code>SlowDown</Code><Message>Slow down</Message></Error>"

func (r *road) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.closed = true
	if r.stalls > 0 {
		r.stalls = 0
		close(r.free)
	}
	for c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.traffic.Wait()
}
