package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs"
)

// explainListen returns an error with what to do about an address that cannot be listened on; flag is what it was given by.
func explainListen(flag, address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return usage("%s: another program listens on %s: stop it, or give this server another address, such as %s 127.0.0.1:0 for a free port", flag, address, flag)
	case errors.Is(err, syscall.EACCES):
		return usage("%s: listening on %s is not allowed to this user: take a port above 1023", flag, address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return usage("%s: %s is no address of this machine", flag, address)
	}
	return usage("%s: %w", flag, err)
}

// listen takes the address of the pages before anything is opened.
func (s *Server) listen(ctx context.Context) error {
	if !s.config.has(roleWeb) {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.HTTP)
	if err != nil {
		return explainListen("--http", s.config.HTTP, err)
	}
	s.listener = listener
	return nil
}

// openCertificate reads the certificate that this node listens with, if it has one.
func (s *Server) openCertificate() (err error) {
	if s.config.TLSCert == "" {
		return nil
	}
	if s.certificate, err = certs.Open(s.config.TLSCert, s.config.TLSKey, s.log, time.Now); err != nil {
		return usage("--tls-cert and --tls-key: %w", err)
	}
	return nil
}

// listenTLS returns how an embedded part speaks to other machines, and warns where that is in the clear; flag is what its
// address was given by. nil: without TLS.
func (s *Server) listenTLS(flag, address string) *tls.Config {
	if address == "" {
		return nil
	}
	if s.certificate != nil {
		return s.certificate.Server()
	}
	if host, _, _ := net.SplitHostPort(address); !loopback(host) {
		s.log.Warn("what executors send and receive, and their credentials, can be read on the way: give --tls-cert and --tls-key", flag, address)
	}
	return nil
}

// address is where a browser on this machine reaches the pages: by a name that the certificate has, if there is one.
func (s *Server) address() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if s.certificate != nil {
		host = certifiedName(s.certificate, host)
	}
	return net.JoinHostPort(host, port)
}

// certifiedName returns a host if a certificate is for it, and otherwise a name that it is for.
func certifiedName(pair *certs.Pair, host string) string {
	leaf := pair.Certificate().Leaf
	if leaf.VerifyHostname(host) == nil {
		return host
	}
	if loopback(host) && leaf.VerifyHostname("localhost") == nil {
		return "localhost"
	}
	if i := slices.IndexFunc(leaf.DNSNames, func(name string) bool { return !strings.Contains(name, "*") }); i >= 0 {
		return leaf.DNSNames[i]
	}
	if len(leaf.IPAddresses) > 0 {
		return leaf.IPAddresses[0].String()
	}
	return host
}
