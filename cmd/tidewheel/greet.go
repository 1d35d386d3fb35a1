package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// greet says at the terminal what runs where.
func (s *Server) greet() {
	var text bytes.Buffer
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&text, "  %-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&text, "Tidewheel %s is ready after %d ms.\n\n", version, time.Since(s.started).Milliseconds())
	if s.listener != nil {
		line("pages", "%s", s.URL())
		switch {
		case s.loginURL != "":
			line("log in", "%s   (good once)", s.loginURL)
		case s.token != "":
			line("log in", "with the token in %s", s.tokenPath)
		default:
			line("log in", "not needed: --auth off")
		}
	}
	if s.health != nil {
		line("metrics", "http://%s/metrics, and /livez and /readyz", s.health.Addr())
	}
	line("data", "%s", s.data.dir)
	line("roles", "%s", s.roles())
	switch {
	case s.config.NATSURL != "":
		line("queue", "NATS at %s", withoutPassword(s.config.NATSURL))
	case s.config.NATSListen != "" && s.config.NATSCredentials == "":
		line("queue", "NATS at %s, with the token in %s", s.nats.URL(), s.data.path(natsTokenFile))
	case s.config.NATSListen != "":
		line("queue", "NATS at %s", s.nats.URL())
	}
	switch {
	case s.config.S3Endpoint != "":
		line("programs", "S3 at %s", withoutPassword(s.config.S3Endpoint))
	case s.config.S3Listen != "":
		line("programs", "S3 at %s, with the keys in %s", s.gateway.Public(), s.data.path("s3.json"))
	}
	if s.config.MongoURI != "" && s.config.needsStore() {
		line("history", "MongoDB at %s", withoutPassword(s.config.MongoURI))
	}
	fmt.Fprintf(&text, "\nCtrl-C shuts it down cleanly, a second Ctrl-C at once.\n")
	_, _ = s.out.Write(text.Bytes()) // a terminal that is gone needs no greeting
}

func (s *Server) roles() string {
	words := make([]string, len(s.config.Roles))
	for i, role := range s.config.Roles {
		words[i] = role
		if role == roleExecutor {
			words[i] += fmt.Sprintf(" (%d slots, tier %s)", s.config.Slots, s.config.Tier)
		}
	}
	return strings.Join(words, ", ")
}
