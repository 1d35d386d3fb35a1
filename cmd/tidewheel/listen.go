package main

import (
	"errors"
	"fmt"
	"syscall"
)

// explainListen says what to do about an address that cannot be listened on.
func explainListen(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--http: another program listens on %s: stop it, or give this server another address, such as --http 127.0.0.1:8081", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("--http: listening on %s is not allowed to this user: take a port above 1023", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--http: %s is no address of this machine", address)
	}
	return fmt.Errorf("--http: %w", err)
}
