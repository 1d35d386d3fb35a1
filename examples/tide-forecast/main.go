// Command tide-forecast predicts high and low waters by harmonic synthesis: the height of the tide is a sum of
// cosines, one for each constituent, whose speeds come from the motions of moon and sun.
//
// It is an example of a program that Tidewheel runs: it reads its arguments, writes its result to standard output and
// says by its exit status how it went.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"time"
)

//go:embed constituents.json
var data []byte

type station struct {
	Station      string
	Unit         string
	Datum        string
	Note         string
	Epoch        time.Time
	Constituents []struct {
		Name      string
		Speed     float64 // degrees an hour
		Amplitude float64
		Phase     float64 // degrees
	}
}

func main() {
	hours := flag.Int("hours", 24, "how far ahead to look")
	at := flag.String("at", "", "begin at this instant, RFC 3339 (default now)")
	flag.Parse()
	start := time.Now().UTC()
	if *at != "" {
		parsed, err := time.Parse(time.RFC3339Nano, *at)
		if err != nil {
			fmt.Fprintf(os.Stderr, "-at: %v\n", err)
			os.Exit(64) // usage: Tidewheel does not try again
		}
		start = parsed.UTC()
	}
	var s station
	if err := json.Unmarshal(data, &s); err != nil {
		fmt.Fprintln(os.Stderr, "constituents.json:", err)
		os.Exit(65) // bad data: neither
	}
	fmt.Printf("%s, heights in %s above %s\n%s\n\n", s.Station, s.Unit, s.Datum, s.Note)
	const step = time.Minute
	before, now := s.height(start.Add(-step)), s.height(start)
	found := 0
	for t := start; t.Before(start.Add(time.Duration(*hours) * time.Hour)); t = t.Add(step) {
		after := s.height(t.Add(step))
		switch {
		case now > before && now >= after:
			fmt.Printf("%s  high water  %+.2f\n", t.Format("Mon 02 Jan 15:04 MST"), now)
			found++
		case now < before && now <= after:
			fmt.Printf("%s  low water   %+.2f\n", t.Format("Mon 02 Jan 15:04 MST"), now)
			found++
		}
		before, now = now, after
	}
	fmt.Printf("\n%d turns of the tide in %d hours\n", found, *hours)
}

// height is the tide at t.
func (s *station) height(t time.Time) float64 {
	hours := t.Sub(s.Epoch).Hours()
	sum := 0.0
	for _, c := range s.Constituents {
		sum += c.Amplitude * math.Cos((c.Speed*hours-c.Phase)*math.Pi/180)
	}
	return sum
}
