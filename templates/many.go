package templates

// Many is the page of something that is done to several definitions at once: the question before it where there is one, or what
// of it was not done.
type Many struct {
	Page    Page
	Kind    *Kind
	Title   string // "Pause"
	Past    string // "paused"
	Asks    bool   // it is done only once their number has been typed
	Ask     bool   // this is the question
	Names   []string
	Back    string // the list as it was
	Problem string
	Done    int
	Refused []NotDone
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
		"started": "", "deleted": "The history is kept.",
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
