package notify

import (
	"fmt"
	"net/url"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// The types of messages.
const (
	MessageOpened = "incident.opened"
	MessageOver   = "incident.over"
	MessageDigest = "digest"
	MessageTest   = "test"
)

// Message is what is sent to a target: the body of a webhook, and the payload of a job. It is the same each time it is sent.
type Message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when it was made
	Data      Data      `json:"data"`
}

// Data is what a message says. What does not apply is left out.
type Data struct {
	ID        string `json:"id"`    // of the delivery
	Title     string `json:"title"` // all of it in a line
	Namespace string `json:"namespace"`
	Job       string `json:"job,omitempty"`
	DAG       string `json:"dag,omitempty"`
	Task      string `json:"task,omitempty"`
	Subject   string `json:"subject,omitempty"` // of an incident of the installation: what it is about, such as an executor's id

	Incident string     `json:"incident,omitempty"` // the same of its beginning and its end
	Alert    spec.Alert `json:"alert,omitempty"`
	Since    time.Time  `json:"since,omitzero"`
	Latest   time.Time  `json:"latest,omitzero"`
	Count    int64      `json:"count,omitempty"` // how often so far
	Reason   string     `json:"reason,omitempty"`
	Run      string     `json:"run,omitempty"`
	Wave     string     `json:"wave,omitempty"`
	Slot     time.Time  `json:"slot,omitzero"`
	Output   []string   `json:"output,omitempty"` // the last lines that the run printed

	Over   time.Time `json:"over,omitzero"`
	Lasted float64   `json:"lasted_seconds,omitempty"`

	URL string `json:"url,omitempty"` // of the page that shows more; only with --public-url

	Messages []Message `json:"messages,omitempty"` // of a digest
}

// message is what a delivery says. base is the address of the pages, "" if that is not known.
func (d *Delivery) message(base string) Message {
	i := &d.Incident
	data := Data{
		ID: d.ID, Namespace: i.Namespace, Job: i.Job, DAG: i.DAG, Task: i.Task, Incident: i.Key(), Alert: i.Alert, Since: i.Since, Latest: i.Latest,
		Count: i.Count, Reason: i.Reason, Run: i.Run, Wave: i.Wave, Slot: i.Slot, Output: d.Output, URL: linkOf(base, i, d.Over),
	}
	if i.Namespace == Installation {
		data.Subject = i.UID
	}
	m := Message{Type: MessageOpened, Timestamp: d.CreatedAt, Data: data}
	if d.Over {
		m.Type = MessageOver
		m.Data.Over, m.Data.Lasted = i.Over, max(i.Over.Sub(i.Since), 0).Seconds()
		m.Data.Reason = i.Ended
		if i.OverRun != "" {
			m.Data.Run = i.OverRun
		}
	}
	m.Data.Title = titleOf(i, d.Over)
	return m
}

// digest is what several deliveries say together; the first is the one that is sent.
func digest(of []Delivery, base string) Message {
	m := Message{Type: MessageDigest, Timestamp: of[0].CreatedAt, Data: Data{ID: of[0].ID, Namespace: of[0].Namespace}}
	opened, over := 0, 0
	for i := range of {
		if of[i].Over {
			over++
		} else {
			opened++
		}
		m.Data.Messages = append(m.Data.Messages, of[i].message(base))
	}
	m.Data.Title = fmt.Sprintf("%s: %d incidents began, %d are over", place(of[0].Namespace), opened, over)
	return m
}

func place(namespace string) string {
	if namespace == Installation {
		return "Tidewheel"
	}
	return "Namespace " + namespace
}

// alertWords say of each alert what is wrong.
var alertWords = map[spec.Alert]string{
	spec.AlertFailed:    "failed",
	spec.AlertDead:      "left a dead letter",
	spec.AlertMissed:    "missed a slot",
	spec.AlertSkipped:   "skipped a slot",
	spec.AlertLate:      "starts late",
	spec.AlertSlow:      "runs for longer than it should",
	spec.AlertSilent:    "has not succeeded for too long",
	AlertExecutorSilent: "is silent",
	AlertShardUnowned:   "has no engine that works on it",
	AlertLedger:         "has slots that did not end once",
}

// titleOf returns what is wrong in a line, such as "Job nightly of prod failed".
func titleOf(i *engine.Incident, over bool) string {
	var name string
	switch {
	case i.Task != "":
		name = "Task " + i.Task + " of DAG " + i.DAG
	case i.DAG != "":
		name = "DAG " + i.DAG
	case i.Job != "":
		name = "Job " + i.Job
	default:
		name = Subject(i)
	}
	if i.Namespace != Installation && i.Namespace != "" {
		name += " (" + i.Namespace + ")"
	}
	if over {
		return "Over: " + name + " " + alertWords[i.Alert] + ", for " + Lasted(i.Over.Sub(i.Since))
	}
	return name + " " + alertWords[i.Alert]
}

// Subject names what an incident of the installation is about.
func Subject(i *engine.Incident) string {
	switch i.Alert {
	case AlertExecutorSilent:
		return "Executor " + i.UID
	case AlertShardUnowned:
		return "A shard"
	default:
		return "The slot ledger"
	}
}

// Lasted writes how long something lasted, to the second.
func Lasted(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	if d < time.Minute {
		return d.String()
	}
	return spec.Duration(d).String()
}

// linkOf is the page that shows more of an incident: its run, else its wave, else its definition.
func linkOf(base string, i *engine.Incident, over bool) string {
	if base == "" {
		return ""
	}
	run := i.Run
	if over {
		run = i.OverRun
	}
	switch {
	case run != "":
		return base + "/runs/" + url.PathEscape(run)
	case i.Wave != "" && !over:
		return base + "/waves/" + url.PathEscape(i.Wave)
	case i.Job != "":
		return base + "/jobs/" + url.PathEscape(i.Job) + "?namespace=" + url.QueryEscape(i.Namespace)
	case i.DAG != "":
		return base + "/dags/" + url.PathEscape(i.DAG) + "?namespace=" + url.QueryEscape(i.Namespace)
	}
	return base + "/executors"
}

// Lines are the facts of a message below its title, each with a name.
func (m *Message) Lines() (lines []Line) {
	d := &m.Data
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, Line{name, value})
		}
	}
	add("Why", d.Reason)
	if !d.Since.IsZero() {
		since := d.Since.UTC().Format(time.DateTime) + " UTC"
		if d.Count > 1 {
			since += fmt.Sprintf(", %d times", d.Count)
		}
		add("Since", since)
	}
	if m.Type == MessageOver {
		add("Over", d.Over.UTC().Format(time.DateTime)+" UTC, after "+Lasted(d.Over.Sub(d.Since)))
	}
	if !d.Slot.IsZero() {
		add("Slot", d.Slot.UTC().Format(time.DateTime)+" UTC")
	}
	add("Run", d.Run)
	add("Wave", d.Wave)
	return lines
}

// Line is one fact of a message.
type Line struct{ Name, Value string }

// mostLines is how many lines of the output a message repeats.
const mostLines = 10
