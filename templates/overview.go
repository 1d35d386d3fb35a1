package templates

import "time"

// Overview is how things stand.
type Overview struct {
	Page Page
	// What a part says that could not be read; "" for none.
	Troubles []string
	Tiles    []Tile
	Concerns []Concern
	// MoreConcerns is how many there are beside these; Dismissed are those that the reader has dismissed.
	MoreConcerns int
	Dismissed    []Concern
	// Self is where the page is fetched again.
	Self     string
	Tides    Tides
	Running  []RunRow // what runs, waits or is to be tried again
	Next     []Upcoming
	Finished []RunRow
	// NoJobs reports whether there is nothing to look at yet.
	NoJobs bool

	Favourites []FavouriteRow
}

// FavouriteRow is a job or a DAG that the reader has starred.
type FavouriteRow struct {
	Kind *Kind
	Row  DefinitionRow
}

// Tile is a figure that leads to what it counts.
type Tile struct {
	Name, Value, Href string
	Note              string // what more there is to say, in few words
	Tone              string // "", "good", "bad", "warn" or "busy"
	// Level is how full it is, 0 … 1; 0 shows no water.
	Level float64
}

// Upcoming is a slot to come.
type Upcoming struct {
	Job  string
	Slot time.Time
}

// Concern is something that needs attention, with what can be done about it.
type Concern struct {
	ID     string // of the part of the page, so that it stays itself when others come
	Status string // how it is shown
	Title  string
	Href   string // what the title leads to; "" for nothing
	Words  string
	At     time.Time
	Cures  []Cure
	// Dismiss is the concern as the reader dismisses it; "" where it stays until it is put right.
	Dismiss string
	// Dismissed is why the reader has dismissed it.
	Dismissed   string
	DismissedAt time.Time
}

// Cure is one way out: a link, or a form that is sent.
type Cure struct {
	Name, Icon, Href string
	Post             bool
	Root             bool // only for admins of all
}
