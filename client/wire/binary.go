package wire

import "time"

// Binary is an uploaded program under its name.
type Binary struct {
	Namespace    string          `json:"namespace" example:"default"`
	Name         string          `json:"name" example:"report"`
	Revision     int64           `json:"revision" doc:"One more with each change"`
	Versions     []BinaryVersion `json:"versions" doc:"The oldest first"`
	Aliases      map[string]int  `json:"aliases" doc:"The version that each alias points to"`
	AliasHistory []AliasMove     `json:"alias_history,omitempty" doc:"Where the aliases pointed before, the newest last"`
	UpdatedAt    time.Time       `json:"updated_at"`
	UsedBy       []string        `json:"used_by,omitempty" doc:"The jobs, and tasks of DAGs as dag/task, that run it, where a single binary is asked for"`
}

// BinaryVersion is one upload.
type BinaryVersion struct {
	N          int       `json:"n" doc:"From 1"`
	SHA256     string    `json:"sha256" doc:"hex"`
	Size       int64     `json:"size" doc:"Bytes"`
	Kind       string    `json:"kind" doc:"What it is by its content: elf, script, jar, macho, pe or unknown"`
	Arch       string    `json:"arch,omitempty" doc:"The processor it is built for, in Go's words"`
	UploadedBy string    `json:"uploaded_by,omitempty"`
	At         time.Time `json:"at"`
}

// BinaryDiff is the difference of two versions of a binary.
type BinaryDiff struct {
	Name   string        `json:"name"`
	A      BinaryVersion `json:"a" doc:"The version compared with"`
	B      BinaryVersion `json:"b" doc:"The version in question"`
	Fields []FieldDiff   `json:"fields" doc:"What differs but for the source"`
	Source LineDiff      `json:"source" doc:"The sources of scripts, line by line"`
}

// AliasMove is one move of an alias.
type AliasMove struct {
	Alias string    `json:"alias"`
	From  int       `json:"from" doc:"0 when the alias was new"`
	To    int       `json:"to"`
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Upload is the answer to an upload.
type Upload struct {
	Name    string         `json:"name"`
	Version BinaryVersion  `json:"version"`
	Aliases map[string]int `json:"aliases"`
	Existed bool           `json:"existed" doc:"The bytes are those of the latest version, so no new one was made"`
}

// AliasRequest points an alias at a version.
type AliasRequest struct {
	Version int `json:"version" minimum:"1"`
}

// RollbackRequest points an alias back to where it pointed before.
type RollbackRequest struct {
	Alias string `json:"alias,omitempty" doc:"stable if absent"`
}

// Rollback is the answer to it.
type Rollback struct {
	Move   AliasMove `json:"move"`
	Binary Binary    `json:"binary"`
}
