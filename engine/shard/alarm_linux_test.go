package shard

import (
	"testing"
	"time"
)

// An exact alarm rings, not before its time, as often as it is set, and closing it ends its goroutine.
func TestExactAlarm(t *testing.T) {
	a, err := newExactAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for _, d := range []time.Duration{0, time.Microsecond, 3 * time.Millisecond} {
		began := time.Now()
		a.set(time.Hour) // replaced
		a.set(d)
		<-a.rings()
		if took := time.Since(began); took < d {
			t.Errorf("set to %v, it rang after %v", d, took)
		}
	}
}

// It does not wait for whole milliseconds, as Go's timers do: of many waits for a fraction of one, the shortest take
// less than one.
func TestExactAlarmIsExact(t *testing.T) {
	a, err := newExactAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	least := time.Hour
	for range 50 {
		began := time.Now()
		a.set(300 * time.Microsecond)
		<-a.rings()
		least = min(least, time.Since(began))
	}
	if least >= time.Millisecond {
		t.Errorf("of 50 waits for 300µs the shortest took %v", least)
	}
}
