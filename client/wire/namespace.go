package wire

import "time"

// Namespace is a tenant: it owns jobs, DAGs, binaries and secrets, and users have roles in it.
type Namespace struct {
	Name        string         `json:"name" example:"finance"`
	Description string         `json:"description,omitempty"`
	Role        string         `json:"role" enum:"viewer,operator,editor,admin" doc:"What the sender of the request may do in it"`
	CreatedAt   time.Time      `json:"created_at,omitzero"`
	CreatedBy   string         `json:"created_by,omitempty"`
	Quota       Quota          `json:"quota" doc:"What bounds it; what is left out has no bound"`
	Retention   Retention      `json:"retention" doc:"How long history is kept, where a job or a DAG does not say; what is left out is the server's"`
	Usage       NamespaceUsage `json:"usage" doc:"What it uses of that: runs as of about a second ago"`
}

// Quota bounds what a namespace may use; 0 is no bound.
type Quota struct {
	Jobs             int64 `json:"jobs,omitempty" doc:"Jobs and DAGs that are defined" example:"100"`
	Queued           int64 `json:"queued,omitempty" doc:"Runs that wait: with more, manual runs are refused, and slots wait"`
	Running          int64 `json:"running,omitempty" doc:"Runs under way at a time"`
	StoredBytes      int64 `json:"stored_bytes,omitempty" doc:"Bytes of its binaries, all versions, and of what its runs have in S3"`
	SubmitsPerSecond int64 `json:"submits_per_second,omitempty" doc:"Runs and waves that are asked for, for each web node"`
}

// Retention is how long history is kept after its end.
type Retention struct {
	Age    string `json:"age,omitempty" doc:"Of runs, and of waves with their runs" example:"2160h"`
	Runs   int    `json:"runs,omitempty" doc:"How many runs of each job, and waves of each DAG, are kept, the newest" example:"1000"`
	Output string `json:"output,omitempty" doc:"Of the output and artifacts of runs, in S3" example:"336h"`
}

// RetentionSettings change a Retention: what is left out stays.
type RetentionSettings struct {
	Age    *string `json:"age,omitempty" doc:"From 1h to 87600h; 0 leaves it to the server" example:"2160h"`
	Runs   *int    `json:"runs,omitempty" minimum:"0" maximum:"100000" doc:"0 takes the bound away"`
	Output *string `json:"output,omitempty" doc:"From 1h to age; 0 leaves it to the server" example:"336h"`
}

// NamespaceUsage is what a namespace uses of its Quota.
type NamespaceUsage struct {
	Jobs        int64  `json:"jobs"`
	Queued      *int64 `json:"queued,omitempty" doc:"Left out where engines cannot be asked"`
	Running     *int64 `json:"running,omitempty" doc:"Left out where engines cannot be asked"`
	StoredBytes int64  `json:"stored_bytes" doc:"What runs have left: as of about three seconds ago"`
}

// QuotaSettings change a Quota: what is left out stays, and 0 takes the bound away.
type QuotaSettings struct {
	Jobs             *int64 `json:"jobs,omitempty" minimum:"0" maximum:"1000000000"`
	Queued           *int64 `json:"queued,omitempty" minimum:"0" maximum:"1000000000"`
	Running          *int64 `json:"running,omitempty" minimum:"0" maximum:"1000000000"`
	StoredBytes      *int64 `json:"stored_bytes,omitempty" minimum:"0"`
	SubmitsPerSecond *int64 `json:"submits_per_second,omitempty" minimum:"0" maximum:"1000000"`
}

// NewNamespace makes a namespace.
type NewNamespace struct {
	Name        string `json:"name" maxLength:"128" doc:"Letters, digits, - and _" example:"finance"`
	Description string `json:"description,omitempty" doc:"What it is for, at most 500 bytes"`
}

// NamespaceSettings are what can be changed of a namespace.
type NamespaceSettings struct {
	Description *string           `json:"description,omitempty" doc:"What it is for, at most 500 bytes; left out: it stays"`
	Quota       QuotaSettings     `json:"quota,omitzero" doc:"What an admin of all namespaces bounds it by; what is left out stays"`
	Retention   RetentionSettings `json:"retention,omitzero" doc:"How long history is kept, where a job or a DAG does not say"`
}

// Member is a user who has a role in a namespace.
type Member struct {
	User          string `json:"user" example:"ada"`
	Role          string `json:"role" enum:"viewer,operator,editor,admin"`
	AllNamespaces bool   `json:"all_namespaces,omitempty" doc:"The role is for all namespaces, and not this one's to change"`
}

// MemberRole gives a user a role.
type MemberRole struct {
	Role string `json:"role" enum:"viewer,operator,editor,admin"`
}
