package templates

import "time"

// Overview is what goes on now.
type Overview struct {
	Page Page
	// What a part says that could not be read; "" for none.
	Troubles []string
	Tiles    []Tile
	Running  []RunRow // what runs, waits or is to be tried again
	Next     []Upcoming
	Failed   []RunRow // lately
	Finished []RunRow
	// NoJobs tells that there is nothing to look at yet.
	NoJobs bool
}

// Tile is a number that leads to what it counts.
type Tile struct {
	Name, Value, Href string
	Tone              string // "", "good", "bad", "warn" or "busy"
}

// Upcoming is a slot to come.
type Upcoming struct {
	Job  string
	Slot time.Time
}
