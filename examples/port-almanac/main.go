// Command port-almanac prints when the tide of some ports is highest within a day: a sum of cosines for each.
//
// It is an example of a program whose runs are the tasks of a DAG. "ports" hands on a list; "tide" is run once for each
// item of it, which it is given as $TIDEWHEEL_ITEM; "almanac" reads what all of them have handed on from the file of
// $TIDEWHEEL_INPUTS.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

//go:embed ports.json
var data []byte

type port struct {
	Name         string       `json:"name"`
	Mean         float64      `json:"mean"`         // metres above chart datum
	Constituents [][3]float64 `json:"constituents"` // speed in degrees an hour, amplitude in metres, phase in degrees
}

// highWater is what is handed on for a port.
type highWater struct {
	Port   string  `json:"port"`
	Minute int     `json:"minute"` // of the day
	Height float64 `json:"height"` // metres
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(65) // bad data: never retried
	}
}

func run(args []string) error {
	var ports []port
	if err := json.Unmarshal(data, &ports); err != nil {
		return err
	}
	if len(args) != 1 {
		return errors.New("say ports, tide or almanac")
	}
	switch args[0] {
	case "ports":
		names := make([]string, len(ports))
		for i := range ports {
			names[i] = ports[i].Name
		}
		fmt.Println(len(names), "ports")
		return handOn(map[string]any{"names": names})
	case "tide":
		return tide(ports)
	case "almanac":
		return almanac()
	}
	return fmt.Errorf("say ports, tide or almanac, not %s", args[0])
}

// tide works out the highest water of one port.
func tide(ports []port) error {
	var name string
	if err := json.Unmarshal([]byte(os.Getenv("TIDEWHEEL_ITEM")), &name); err != nil {
		return fmt.Errorf("TIDEWHEEL_ITEM is no name: %w", err)
	}
	at := slices.IndexFunc(ports, func(p port) bool { return p.Name == name })
	if at < 0 {
		return fmt.Errorf("there is no port %q", name)
	}
	best := highWater{Port: name, Height: math.Inf(-1)}
	for minute := range 24 * 60 {
		height := ports[at].Mean
		for _, c := range ports[at].Constituents {
			height += c[1] * math.Cos((c[0]*float64(minute)/60-c[2])*math.Pi/180)
		}
		if height > best.Height {
			best.Minute, best.Height = minute, math.Round(height*100)/100
		}
	}
	fmt.Println(best)
	return handOn(best)
}

func (h highWater) String() string {
	return fmt.Sprintf("%-10s %02d:%02d %6.2f m", h.Port, h.Minute/60, h.Minute%60, h.Height)
}

// almanac puts together what the runs of tide have handed on.
func almanac() error {
	text, err := os.ReadFile(os.Getenv("TIDEWHEEL_INPUTS"))
	if err != nil {
		return err
	}
	var inputs struct {
		Tide []highWater `json:"tide"`
	}
	if err := json.Unmarshal(text, &inputs); err != nil {
		return err
	}
	slices.SortFunc(inputs.Tide, func(a, b highWater) int { return a.Minute - b.Minute })
	for _, one := range inputs.Tide {
		fmt.Println(one)
	}
	return handOn(map[string]any{"ports": len(inputs.Tide)})
}

func handOn(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("TIDEWHEEL_OUTPUT"), text, 0o600)
}
