package main

import (
	"errors"
	"syscall"
)

// explainListen says what to do about an address that cannot be listened on; flag is what it was given by.
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
