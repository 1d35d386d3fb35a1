package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker: -X main.version=…
var version = "dev"

func main() {
	if status, is := guardian(os.Args[1:]); is {
		os.Exit(status)
	}
	os.Exit(run())
}

// run lets the first signal end what is under way in good order, and the second one end the process at once.
func run() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup says that the terminal may go
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // from now on a signal does what it does by default
	c := newCLI(os.Stdin, os.Stdout, os.Stderr)
	return c.run(ctx, os.Args[1:])
}
