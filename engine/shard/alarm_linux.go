package shard

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// exactAlarm is a timer of the kernel's (timerfd_create(2)), exact to some ten microseconds. Go's own timers end with
// the wait for input, which epoll counts in milliseconds.
type exactAlarm struct {
	file *os.File
	fd   int
	rung chan time.Time
	done chan struct{}
}

func newExactAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	a := &exactAlarm{file: os.NewFile(uintptr(fd), "timer"), fd: fd, rung: make(chan time.Time, 1), done: make(chan struct{})}
	go a.watch()
	return a, nil
}

// watch passes rings on until the alarm is closed.
func (a *exactAlarm) watch() {
	defer close(a.done)
	var count [8]byte
	for {
		if _, err := a.file.Read(count[:]); err != nil {
			return
		}
		select {
		case a.rung <- time.Now():
		default: // one that was not heard yet says the same
		}
	}
}

func (a *exactAlarm) set(d time.Duration) {
	// Zero would stop it.
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(max(d, 1).Nanoseconds())}
	_ = unix.TimerfdSettime(a.fd, 0, &at, nil) // cannot fail for an open timer and a valid time
}

func (a *exactAlarm) rings() <-chan time.Time { return a.rung }

func (a *exactAlarm) close() {
	_ = a.file.Close() // it ends the read
	<-a.done
}
