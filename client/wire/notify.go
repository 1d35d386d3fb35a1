package wire

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// NotifyTarget is where notifications go. What is secret of it is not answered.
type NotifyTarget struct {
	Namespace    string        `json:"namespace" example:"default"`
	Name         string        `json:"name" example:"ops"`
	Kind         string        `json:"kind" example:"webhook" doc:"webhook, slack, teams, email or job"`
	URL          string        `json:"url,omitempty" example:"https://hooks.example.com" doc:"Of a webhook, Slack or Teams: the scheme and host, and no more of it"`
	Addresses    []string      `json:"addresses,omitempty" doc:"Of e-mail"`
	Job          string        `json:"job,omitempty" doc:"The job that runs, with the message as its payload"`
	AllowPrivate bool          `json:"allow_private,omitempty" doc:"Private, loopback and link-local addresses are connected to"`
	Digest       spec.Duration `json:"digest,omitzero" doc:"For how long messages are collected, to be sent as one; absent: each is sent at once"`
	CreatedAt    time.Time     `json:"created_at"`
	CreatedBy    string        `json:"created_by,omitempty"`
	UpdatedAt    time.Time     `json:"updated_at"`
	UpdatedBy    string        `json:"updated_by,omitempty"`
	// Problem is of the server that answers. Another one may send to the target.
	Problem string `json:"problem,omitempty" doc:"Why the server that answers cannot send to it, such as a missing key of secrets; another server may"`
	// SigningSecret is answered once, to who makes a webhook.
	SigningSecret string `json:"signing_secret,omitempty" doc:"What messages to a new webhook are signed with (Standard Webhooks): it is not answered again"`
}

// NotifyTargetSettings make or change a target.
type NotifyTargetSettings struct {
	Kind         string        `json:"kind" enum:"webhook,slack,teams,email,job"`
	URL          string        `json:"url,omitempty" maxLength:"2048" doc:"Of a webhook, Slack or Teams; left out, that of the target stays"`
	Addresses    []string      `json:"addresses,omitempty" maxItems:"20" doc:"Of e-mail"`
	Job          string        `json:"job,omitempty" maxLength:"128" doc:"A job of the namespace"`
	AllowPrivate bool          `json:"allow_private,omitempty" doc:"Allow private, loopback and link-local addresses"`
	Digest       spec.Duration `json:"digest,omitzero" doc:"Collect messages for so long (1m to 24h), and send them as one"`
}

// NotifyTested is the answer of a target to a test.
type NotifyTested struct {
	Target string `json:"target"`
	Answer string `json:"answer" example:"200 OK"`
}

// NotifyIncident is one thing that is or was wrong.
type NotifyIncident struct {
	ID      string     `json:"id" doc:"The same for each incident of the same alert about the same thing"`
	Alert   spec.Alert `json:"alert" example:"failed"`
	Job     string     `json:"job,omitempty"`
	DAG     string     `json:"dag,omitempty"`
	Task    string     `json:"task,omitempty"`
	Subject string     `json:"subject,omitempty" doc:"Of the installation: what it is about, such as an executor's id"`
	Since   time.Time  `json:"since" doc:"Its first sign"`
	Latest  time.Time  `json:"latest" doc:"Its latest sign"`
	Count   int64      `json:"count" doc:"How many signs of it there were"`
	Run     string     `json:"run,omitempty" doc:"Of the latest sign"`
	Wave    string     `json:"wave,omitempty" doc:"Of the latest sign"`
	Slot    time.Time  `json:"slot,omitzero" doc:"Of the latest sign"`
	Reason  string     `json:"reason" doc:"Of the latest sign, in words"`
	Over    time.Time  `json:"over,omitzero" doc:"When it ended; absent while it is active"`
	Ended   string     `json:"ended,omitempty" doc:"Why it is over, in words"`
}

// NotifyDelivery is one message to one target.
type NotifyDelivery struct {
	ID        string          `json:"id" doc:"Of its message too"`
	Namespace string          `json:"namespace"`
	Target    string          `json:"target"`
	State     string          `json:"state" doc:"waiting, held (to be sent with others), delivered, failed or silenced"`
	Over      bool            `json:"over,omitempty" doc:"It says that the incident is over; otherwise, that it has begun"`
	Incident  NotifyIncident  `json:"incident" doc:"As it was when it was notified"`
	Attempts  []NotifyAttempt `json:"attempts,omitempty" doc:"The latest ones, oldest first"`
	Tries     int             `json:"tries" doc:"How many attempts there were"`
	Reason    string          `json:"reason,omitempty" doc:"Of its state, where no attempt says it"`
	NextAt    time.Time       `json:"next_at,omitzero" doc:"When it is sent next; absent once it has ended"`
	CreatedAt time.Time       `json:"created_at"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
}

// NotifyAttempt is one attempt to deliver.
type NotifyAttempt struct {
	At     time.Time `json:"at"`
	Answer string    `json:"answer,omitempty" doc:"Of the target" example:"200 OK"`
	Error  string    `json:"error,omitempty" doc:"Why it did not take the message"`
}

// NotifySilence keeps notifications from being sent for a time.
type NotifySilence struct {
	ID         string     `json:"id"`
	Namespace  string     `json:"namespace"`
	Definition string     `json:"definition,omitempty" doc:"The name of a job or DAG, or a pattern such as report-*; absent: all"`
	Alert      spec.Alert `json:"alert,omitempty" doc:"Absent: all"`
	From       time.Time  `json:"from"`
	Until      time.Time  `json:"until" doc:"The first instant at which it is over"`
	By         string     `json:"by,omitempty"`
	Reason     string     `json:"reason,omitempty"`
}

// NewNotifySilence asks for a silence, for a time or until an instant.
type NewNotifySilence struct {
	Definition string        `json:"definition,omitempty" maxLength:"128" doc:"The name of a job or DAG, or a pattern such as report-*; left out: all"`
	Alert      spec.Alert    `json:"alert,omitempty" maxLength:"32" doc:"Left out: all"`
	For        spec.Duration `json:"for,omitzero" doc:"How long it lasts, at most 2160h"`
	Until      time.Time     `json:"until,omitzero" doc:"When it is over, instead of for"`
	From       time.Time     `json:"from,omitzero" doc:"When it begins; left out: now"`
	Reason     string        `json:"reason,omitempty" maxLength:"500"`
}

// NotifyRules are the default alerts of a namespace, for definitions without alerts of their own.
type NotifyRules struct {
	On       []spec.Alert  `json:"on,omitempty" maxItems:"10" doc:"failed, dead, missed, skipped, recovered"`
	Lag      spec.Duration `json:"lag,omitzero" doc:"Tell of runs that have not started so long after their slot"`
	Duration spec.Duration `json:"duration,omitzero" doc:"Notify of runs and waves that take longer"`
	To       []string      `json:"to,omitempty" maxItems:"10" doc:"Names of notification targets"`
}
