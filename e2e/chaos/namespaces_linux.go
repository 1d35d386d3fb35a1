package chaos

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// namespaces is a network of namespaces: one for each part, with a link each to a bridge. A link that is down drops
// what is sent, and no sender notices.
type namespaces struct {
	t        *testing.T
	prefix   string // of the names of devices and namespaces, which hold 15 characters
	subnet   string // the first three numbers of all addresses
	services map[string]service
	parts    map[string]int // the last number
	bridge   string
	gate     *road // by which all reach the S3, so that its answers can be spoilt; made when it is first asked for
}

// newNamespaces makes the network, or says why it may not. Services listen at a port each.
func newNamespaces(t *testing.T, parts []string, services map[string]service) (*namespaces, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("only root can make network namespaces")
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	pid := os.Getpid()
	n := &namespaces{
		t: t, prefix: "tw" + strconv.FormatInt(int64(pid), 36), subnet: fmt.Sprintf("10.%d.%d", 128+pid>>8&127, pid&255),
		services: services, parts: map[string]int{},
	}
	n.bridge = n.prefix + "b"
	t.Cleanup(n.remove)
	if err := n.ip("link", "add", n.bridge, "type", "bridge"); err != nil {
		return nil, err
	}
	if err := n.ip("addr", "add", n.subnet+".1/24", "dev", n.bridge); err != nil {
		return nil, err
	}
	if err := n.ip("link", "set", n.bridge, "up"); err != nil {
		return nil, err
	}
	for i, part := range parts {
		n.parts[part] = 10 + i
		name, near, far := n.space(part), n.link(part), n.prefix+"f"+strconv.Itoa(i)
		for _, arguments := range [][]string{
			{"netns", "add", name},
			{"link", "add", near, "type", "veth", "peer", "name", far, "netns", name},
			{"link", "set", near, "master", n.bridge},
			{"link", "set", near, "up"},
			{"-n", name, "link", "set", "lo", "up"},
			{"-n", name, "addr", "add", n.host(part) + "/24", "dev", far},
			{"-n", name, "link", "set", far, "up"},
		} {
			if err := n.ip(arguments...); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

func (n *namespaces) name() string             { return "network namespaces" }
func (n *namespaces) host(part string) string  { return n.subnet + "." + strconv.Itoa(n.parts[part]) }
func (n *namespaces) owner(name string) string { return n.services[name].part }
func (n *namespaces) space(part string) string { return n.prefix + "-" + part }
func (n *namespaces) link(part string) string  { return n.prefix + "n" + strconv.Itoa(n.parts[part]) }

func (n *namespaces) reach(from, name string) string {
	_, port, _ := net.SplitHostPort(n.services[name].address)
	address := net.JoinHostPort(n.host(n.services[name].part), port)
	if name != serviceS3 || from == "" {
		return address
	}
	if n.gate == nil {
		n.gate = newRoad(n.t, n.subnet+".1", address)
		n.t.Cleanup(n.gate.close)
	}
	return n.gate.listener.Addr().String()
}

func (n *namespaces) spoil(_ string, how spoilage) {
	if n.gate != nil {
		n.gate.spoil(how)
	}
}

func (n *namespaces) place(part string, command *exec.Cmd) {
	path, err := exec.LookPath("nsenter")
	if err != nil {
		n.t.Error(err)
		return
	}
	// It becomes the command, and does not stay as its parent.
	command.Args = append([]string{path, "--net=/run/netns/" + n.space(part), command.Path}, command.Args[1:]...)
	command.Path = path
}

func (n *namespaces) cut(part string)  { n.must("link", "set", n.link(part), "down") }
func (n *namespaces) mend(part string) { n.must("link", "set", n.link(part), "up") }

func (n *namespaces) must(arguments ...string) {
	if err := n.ip(arguments...); err != nil {
		n.t.Error(err)
	}
}

func (n *namespaces) ip(arguments ...string) error {
	if text, err := exec.CommandContext(context.Background(), "ip", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", arguments, err, bytes.TrimSpace(text))
	}
	return nil
}

// remove removes what there is: of a network that could not be made, too.
func (n *namespaces) remove() {
	for part := range n.parts {
		_ = n.ip("netns", "del", n.space(part))
		_ = n.ip("link", "del", n.link(part)) // goes with its namespace, but later
	}
	_ = n.ip("link", "del", n.bridge)
}

// dieWithUs lets a part end with this test, also with one that is killed or runs out of time.
func dieWithUs(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
