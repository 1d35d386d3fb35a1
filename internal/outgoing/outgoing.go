// Package outgoing makes connections to addresses that users have named, and keeps them from the server's own network: loopback,
// private, link-local and multicast addresses, and the metadata service of a cloud, are refused unless they are allowed.
//
// An address is checked when the connection is made, after its name was resolved. So a name that meant a public address when it was
// saved, and means a private one now, is refused, too.
package outgoing

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrRefused means that an address belongs to the server's own network.
var ErrRefused = errors.New("this address is refused")

// RefusedError reports which address is refused, and why. It is an ErrRefused.
type RefusedError struct {
	Address string
	What    string // what it is, as in "a private address"
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is %s: the server connects to such addresses only where they are allowed", e.Address, e.What)
}

// Is reports whether the target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// refused are the networks beyond those that netip names.
var refused = []struct {
	network netip.Prefix
	what    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a provider's network"}, // and some metadata services
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for measurements"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"}, // and broadcast
	{netip.MustParsePrefix("100::/64"), "a reserved address"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
}

// carriers are networks of IPv6 that carry an address of IPv4: the byte at which it begins.
var carriers = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2}, // 6to4
	{netip.MustParsePrefix("::/96"), 12},    // IPv4-compatible
}

// CheckAddress refuses an address of the server's own network, as a *RefusedError.
func CheckAddress(address netip.Addr) error {
	if what := kindOf(address.WithZone("").Unmap()); what != "" {
		return &RefusedError{address.String(), what}
	}
	return nil
}

// kindOf returns what a refused address is, "" for any other.
func kindOf(address netip.Addr) string {
	switch {
	case !address.IsValid():
		return "no address"
	case address.IsUnspecified():
		return "the unspecified address"
	case address.IsLoopback():
		return "a loopback address"
	case address.IsMulticast():
		return "a multicast address"
	case address.IsLinkLocalUnicast(): // 169.254.169.254 is one
		return "a link-local address"
	case address.IsPrivate(): // fd00:ec2::254 is one
		return "a private address"
	}
	for _, r := range refused {
		if r.network.Contains(address) {
			return r.what
		}
	}
	for _, c := range carriers {
		if c.network.Contains(address) {
			bytes := address.As16()
			return kindOf(netip.AddrFrom4([4]byte(bytes[c.at : c.at+4])))
		}
	}
	return ""
}

// CheckHost refuses a host as a user writes it, without a port, where it says by itself that it is of the server's own network: an
// address, localhost, or a number in one of the forms that resolvers read as an address of IPv4. Any other name is checked when
// the connection is made.
func CheckHost(host string) error {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return &RefusedError{host, "a loopback address"}
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return CheckAddress(address)
	}
	if address, ok := oldForm(host); ok {
		if err := CheckAddress(address); err != nil {
			return &RefusedError{host, kindOf(address)}
		}
	}
	return nil
}

// oldForm reads an address as inet_aton does: one to four numbers, decimal, octal or hexadecimal, of which the last one fills what
// is left.
func oldForm(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 0, 33)
		if strings.Contains(part, "_") || err != nil {
			return netip.Addr{}, false
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if number >= 1<<bits {
			return netip.Addr{}, false
		}
		value = value<<bits | number
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// control refuses a connection to an address of the server's own network. The dialer calls it with each address that a name was
// resolved to, before it connects.
func control(_, address string, _ syscall.RawConn) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{address, "no address"}
	}
	return CheckAddress(parsed.Addr())
}

// Dialer returns a dialer that refuses addresses of the server's own network, unless allowPrivate.
func Dialer(allowPrivate bool, timeout time.Duration) *net.Dialer {
	dialer := &net.Dialer{Timeout: timeout}
	if !allowPrivate {
		dialer.Control = control
	}
	return dialer
}

// Client returns a client of HTTP over such a dialer. It follows no redirect, as that would carry a signed message to another
// address, keeps no connection, and takes a proxy from nowhere: a proxy would connect in its place, unchecked. A nil resolver is the
// machine's.
func Client(allowPrivate bool, timeout time.Duration, resolver *net.Resolver) *http.Client {
	dialer := Dialer(allowPrivate, timeout)
	dialer.Resolver = resolver
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CheckURL checks that a text is the URL of an HTTP service that a user may let the server connect to, and returns it
// parsed. An address that is refused is a *RefusedError.
func CheckURL(text string, allowPrivate bool) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("this is no URL, such as https://hooks.example.com/in") // the error of url.Parse quotes it all
	case parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Hostname() == "":
		return nil, errors.New("a URL begins with https:// or http:// and a host")
	case parsed.User != nil:
		return nil, errors.New("a URL with a user or password in it is not taken: put what authorizes into its path or query")
	case parsed.Fragment != "":
		return nil, errors.New("a URL with a # in it is not taken: what follows that is never sent")
	}
	if port := parsed.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return nil, errors.New("its port is not from 1 to 65535")
		}
	}
	if !allowPrivate {
		if err := CheckHost(parsed.Hostname()); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}
