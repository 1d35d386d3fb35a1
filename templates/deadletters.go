package templates

import (
	"net/url"
	"time"
)

// DeadLetterRow is a run that used up its retries.
type DeadLetterRow struct {
	Run      string // its id
	Job      string // its label: a job, or "dag/task"
	Of       WaveRun
	Error    string
	Attempts int
	At       time.Time
	Removing bool // it is about to be purged
}

func (r DeadLetterRow) act(what string) string {
	return deadLettersPath(what, url.Values{"run": {r.Run}})
}

// DeadLetters is the list of them.
type DeadLetters struct {
	Page    Page
	Job     string // what it is narrowed to; "" for all
	Rows    []DeadLetterRow
	Count   string // of all that match, in words: "12 runs", "more than 1000 runs"
	Pager   Pager
	Live    string // where the list is fetched again; "" on pages that do not change
	Problem string
}

func (v DeadLetters) act(what string) string {
	query := url.Values{}
	if v.Job != "" {
		query.Set("job", v.Job)
	}
	return deadLettersPath(what, query)
}

// deadLettersPath is the address of a question about dead letters, or of their list.
func deadLettersPath(what string, query url.Values) string {
	path := "/dead-letters"
	if what != "" {
		path += "/" + what
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// DeadLetterAct asks before dead letters are replayed or purged, or says what became of it.
type DeadLetterAct struct {
	Page Page
	Act  string // "replay" or "purge"
	// Job and Run are what it is narrowed to.
	Job, Run string
	Until    string // the instant of the count, as the form sends it back
	Count    int
	More     bool // there are more, which one request does not take
	Of       []DeadLettersOf
	Oldest   time.Time
	Tasks    bool // some are of tasks
	Single   *DeadLetterRow
	// Handled says that it was asked for: Done are those it was done to.
	Handled bool
	Done    int
	Refused []DeadLetterRefused
}

// DeadLettersOf counts those of one job or task.
type DeadLettersOf struct {
	Job, Href string
	Count     int
}

// DeadLetterRefused is one that stays, and why.
type DeadLetterRefused struct {
	DeadLetterRow
	Why string
}

func (v DeadLetterAct) list() string {
	query := url.Values{}
	if v.Job != "" {
		query.Set("job", v.Job)
	}
	return deadLettersPath("", query)
}

// runs is how many there are, in words.
func (v DeadLetterAct) runs() string {
	words := Plural(int64(v.Count), "dead run", "dead runs")
	if v.Job != "" {
		words += " of " + v.Job
	}
	return words
}

// LettersReplayed says how many were.
func LettersReplayed(n int) string {
	return Plural(int64(n), "run was", "runs were") + " queued for another attempt."
}

// numbered is the word that goes with a number.
func numbered(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
