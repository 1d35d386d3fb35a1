package templates

// Many is the page of something that is done to several definitions at once: the question before it where there is one, or what
// of it was not done.
type Many struct {
	Page    Page
	Kind    *Kind
	Title   string // "Pause"
	Past    string // "paused"
	Asks    ManyAsks
	Ask     bool           // this is the question
	Labels  string         // as they were typed
	Present []CountedLabel // that they have
	Names   []string
	Back    string // the list as it was
	Problem string
	Done    int
	Refused []NotDone
}

// ManyAsks is what is asked before it is done.
type ManyAsks uint8

// What may be asked.
const (
	AsksNothing   ManyAsks = iota
	AsksForCount           // it is done only once their number has been typed
	AsksForLabels          // which labels are set and removed
)

// CountedLabel is a label, "key=value", and how many have it.
type CountedLabel struct {
	Label string
	Count int
}

// NotDone is a definition that something was not done to, and why.
type NotDone struct {
	Name, Why string
}

// Several says how many there are: "3 jobs".
func (k *Kind) Several(n int) string { return Plural(int64(n), k.Noun, k.plural()) }

// ManyDone says to how many something was done; "" for what the list does not do.
func (k *Kind) ManyDone(past string, n int) string {
	more := map[string]string{
		"paused": "Running runs continue.", "resumed": "The catch-up policy of each decides about the slots of its pause.",
		"started": "", "labelled": "",
	}
	words, known := more[past]
	if !known || n < 1 {
		return ""
	}
	if words != "" {
		words = " " + words
	}
	return k.Several(n) + " " + past + "." + words
}
