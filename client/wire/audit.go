package wire

import "time"

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	Number    int64         `json:"number" doc:"1, 2, 3, … without gaps"`
	At        time.Time     `json:"at"`
	By        string        `json:"by" doc:"The user, or user/token"`
	Remote    string        `json:"remote" doc:"The address that asked"`
	RequestID string        `json:"request_id" doc:"As in the server's log"`
	Agent     string        `json:"agent,omitempty" doc:"What the program that asked calls itself"`
	Namespace string        `json:"namespace,omitempty"`
	Action    string        `json:"action" doc:"Method and route"`
	Target    string        `json:"target" doc:"The path that was asked for"`
	Outcome   string        `json:"outcome" enum:"done,refused,failed"`
	Status    int           `json:"status" doc:"Of HTTP"`
	Changes   []AuditChange `json:"changes,omitempty" doc:"Absent where action and target say all"`
	Previous  string        `json:"previous,omitempty" doc:"The hash of the entry before"`
	Hash      string        `json:"hash" doc:"SHA-256 over the entry, in hex"`
}

// AuditChange is one thing that a request has changed.
type AuditChange struct {
	What   string `json:"what" example:"job nightly-report"`
	Before string `json:"before,omitempty" doc:"What it was, in short; absent for what was not there" example:"generation 3"`
	After  string `json:"after,omitempty" doc:"What it is now; absent for what is gone" example:"generation 4"`
}

// AuditCheck is what a check of the audit log found.
type AuditCheck struct {
	Whole   bool   `json:"whole" doc:"Each entry follows from the one before it"`
	Entries int64  `json:"entries" doc:"How many there are; where the log is broken, the number of the last one that was looked at"`
	Hash    string `json:"hash,omitempty" doc:"Of the last entry: keep it elsewhere, and give it to a later check"`
	Problem string `json:"problem,omitempty" doc:"Where the log is broken, and how"`
}
