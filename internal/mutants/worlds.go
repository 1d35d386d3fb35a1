package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine/sim"
)

// firstSeed is that of the first world that a mutant lives in.
const firstSeed = 1

// patience is how long one world may take; most take some hundredths of a second. A guard may be what ends a loop.
const patience = time.Minute

// verdict is what the worlds say of the engine that they were compiled with.
type verdict struct {
	Worlds    int    `json:"worlds"` // up to and with the one that was red
	Seed      uint64 `json:"seed"`   // 0 if all were green
	Invariant string `json:"invariant,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Test      string `json:"-"` // which failed instead
}

// turn runs worlds in parallel until one is red, and reports the red one of the lowest seed, so that the answer does not
// depend on how many there are at once. Seeds of which nothing can be learned are passed over.
func turn(worlds int, without []uint64) verdict {
	var (
		mu      sync.Mutex
		next    uint64 = firstSeed
		end            = firstSeed + uint64(worlds)
		red     *verdict
		began   = map[uint64]time.Time{}
		running sync.WaitGroup
	)
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		for slices.Contains(without, next) {
			next++
		}
		if red != nil || next >= end {
			return 0, false
		}
		next++
		began[next-1] = time.Now()
		return next - 1, true
	}
	tell := func(seed uint64, failure *sim.Failure) {
		mu.Lock()
		defer mu.Unlock()
		delete(began, seed)
		if failure != nil && (red == nil || seed < red.Seed) {
			red = &verdict{Worlds: int(seed - firstSeed + 1), Seed: seed, Invariant: failure.Invariant, Detail: failure.Detail}
		}
	}
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				tell(seed, world(seed))
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-ended:
			if red != nil {
				return *red
			}
			return verdict{Worlds: worlds}
		case <-clock.C:
			mu.Lock()
			for seed, since := range began {
				if time.Since(since) > patience {
					defer mu.Unlock()
					return verdict{Worlds: int(seed - firstSeed + 1), Seed: seed, Invariant: "a world comes to its end", Detail: fmt.Sprintf("it has not in %s", patience)}
				}
			}
			mu.Unlock()
		}
	}
}

// world runs the world of a seed, and returns what was wrong in it, nil if nothing was.
func world(seed uint64) (failure *sim.Failure) {
	defer func() {
		if p := recover(); p != nil {
			failure = &sim.Failure{Invariant: "the engine does not panic", Detail: fmt.Sprint(p)}
		}
	}()
	return sim.Run(seed, sim.Options{}).Failure
}

// turnAndTell is what the command does when it has been compiled with a mutation.
func turnAndTell(out io.Writer, worlds int, without []uint64) error {
	return json.NewEncoder(out).Encode(turn(worlds, without))
}
