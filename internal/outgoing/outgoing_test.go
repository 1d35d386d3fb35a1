package outgoing

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestAddressOfTheServersOwnNetworkIsRefused(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.0.1",
		"100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "100::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.1.2.3", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1",
		"2002:7f00:1::", "2002:a00:1::1", "::127.0.0.1", "::a9fe:a9fe",
	} {
		if err := CheckAddress(netip.MustParseAddr(text)); !errors.Is(err, ErrRefused) {
			t.Errorf("%s is taken: %v", text, err)
		}
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1", "198.20.0.1", "223.255.255.255",
		"2606:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		if err := CheckAddress(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
	}
	if err := CheckAddress(netip.Addr{}); !errors.Is(err, ErrRefused) {
		t.Errorf("no address is taken: %v", err)
	}
}

func TestHostThatSaysWhereItIsIsRefusedWhenSaved(t *testing.T) {
	for _, host := range []string{
		"localhost", "LOCALHOST", "localhost.", "hooks.localhost", "127.0.0.1", "127.0.0.1.", "[::1]", "::1", "[::ffff:169.254.169.254]",
		"2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.1", "017700000001", "2852039166", "0", "10.1", "192.168.257", "[fe80::1%25eth0]",
	} {
		if err := CheckHost(host); !errors.Is(err, ErrRefused) {
			t.Errorf("%s is taken: %v", host, err)
		}
	}
	for _, host := range []string{"example.com", "8.8.8.8", "134744072", "hooks.example.com.", "1.example", "localhost.example.com", "0x7f000001.example", "[2a00::1]"} {
		if err := CheckHost(host); err != nil {
			t.Errorf("%s is refused: %v", host, err)
		}
	}
	for _, text := range []string{
		"", "example.com", "ftp://example.com", "https://", "https://user@example.com", "https://user:pw@example.com", "https://example.com/#x",
		"https://example.com:0", "https://example.com:65536", "file:///etc/passwd", "https://exa mple.com/", "//example.com",
	} {
		if _, err := CheckURL(text, true); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", text, err)
		} else if len(text) > 10 && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the URL: %v", err)
		}
	}
	if _, err := CheckURL("http://169.254.169.254/latest/meta-data", false); !errors.Is(err, ErrRefused) {
		t.Errorf("the metadata service is taken: %v", err)
	}
	if _, err := CheckURL("http://127.0.0.1:9/x?y", true); err != nil {
		t.Errorf("allowed, it is refused: %v", err)
	}
}

// aResolver answers each question of a name's address with what answer returns.
func aResolver(t *testing.T, answer func() netip.Addr) *net.Resolver {
	t.Helper()
	var config net.ListenConfig
	server, err := config.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if err := query.Unpack(buffer[:n]); err != nil {
				continue
			}
			response := dnsmessage.Message{
				Header: dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true}, Questions: query.Questions,
			}
			question := query.Questions[0]
			header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class}
			switch address := answer(); {
			case question.Type == dnsmessage.TypeA && address.Is4():
				response.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
			case question.Type == dnsmessage.TypeAAAA && address.Is6():
				response.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
			}
			packed, err := response.Pack()
			if err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func post(t *testing.T, client *http.Client, address string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

// A name passes when it is saved, and then means an address of the server's own network: the connection is refused, whatever the name
// meant before.
func TestNameThatIsReboundIsRefusedAtTheConnection(t *testing.T) {
	var calls atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer inside.Close()
	parsed, err := url.Parse(inside.URL)
	if err != nil {
		t.Fatal(err)
	}
	target := "http://hooks.attacker.example:" + parsed.Port() + "/"
	if _, err := CheckURL(target, false); err != nil {
		t.Fatalf("the name is refused when it is saved: %v", err)
	}
	for _, address := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "0.0.0.0"} {
		resolver := aResolver(t, func() netip.Addr { return netip.MustParseAddr(address) })
		if err := post(t, Client(false, 5*time.Second, resolver), target); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	resolver := aResolver(t, func() netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	if err := post(t, Client(true, 5*time.Second, resolver), target); err != nil || calls.Load() != 1 {
		t.Errorf("allowed: %v, %d requests", err, calls.Load())
	}
}

func TestDecimalAddressIsRefusedAtTheConnection(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"} {
		if err := post(t, Client(false, 5*time.Second, nil), "http://"+host+":9/"); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	// What a resolver makes of a number differs: it is no public address, or no name.
	for _, host := range []string{"2130706433", "0x7f000001"} {
		if err := post(t, Client(false, 5*time.Second, aResolver(t, func() netip.Addr { return netip.MustParseAddr("127.0.0.1") })), "http://"+host+":9/"); err == nil {
			t.Errorf("%s was connected to", host)
		}
	}
}

func TestRedirectAndProxyAreNotFollowed(t *testing.T) {
	var calls atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	t.Setenv("HTTP_PROXY", other.URL)
	t.Setenv("http_proxy", other.URL)
	client := Client(true, 5*time.Second, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, first.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusTemporaryRedirect || calls.Load() != 0 {
		t.Errorf("status %d, and %d requests to another address", response.StatusCode, calls.Load())
	}
	if transport, ok := client.Transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("a proxy is asked for") // of loopback, the environment's proxy is not used anyway
	}
}
