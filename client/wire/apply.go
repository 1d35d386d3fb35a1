package wire

// Applied is what an apply did, or would do, document by document.
type Applied struct {
	Items  []AppliedDocument `json:"items"`
	DryRun bool              `json:"dry_run"`
}

// AppliedDocument is one document, or one job that was pruned.
type AppliedDocument struct {
	Kind       string `json:"kind" example:"Job"`
	Name       string `json:"name"`
	Change     string `json:"change" enum:"created,changed,unchanged,deleted"`
	Generation int64  `json:"generation,omitempty"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty" doc:"Where the document begins"`
	// Warnings are no faults.
	Warnings []string `json:"warnings,omitempty" doc:"What hinders it now, and need not be wrong" example:"[\"no executor has gpu=true: its runs wait until one comes\"]"`
}

// Validated is the answer to a check that found nothing wrong.
type Validated struct {
	Items []ValidatedDocument `json:"items"`
}

// ValidatedDocument is one document.
type ValidatedDocument struct {
	Kind     string `json:"kind" example:"Job"`
	Name     string `json:"name"`
	Schedule string `json:"schedule" doc:"When it would run, in words"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty" doc:"Where the document begins"`
	// Warnings are no faults; `tidewheel validate`, which asks no server, has none.
	Warnings []string `json:"warnings,omitempty" doc:"What would hinder it now, and need not be wrong"`
}
