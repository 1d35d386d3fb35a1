package wire

// Favourite is a job or a DAG that a user has starred.
type Favourite struct {
	Kind string `json:"kind" enum:"job,dag"`
	Name string `json:"name" example:"nightly-report"`
}

// Profile is how a user wants pages to be.
type Profile struct {
	Zone  string `json:"zone" maxLength:"64" doc:"The IANA name of the zone that pages show times in; empty: that of the browser" example:"Europe/Berlin"`
	Theme string `json:"theme" maxLength:"16" doc:"light or dark; empty: that of the browser"`
}

// LabelChange changes the labels of a definition.
type LabelChange struct {
	Set    map[string]string `json:"set,omitempty" doc:"Labels that are added, or get another value"`
	Remove []string          `json:"remove,omitempty" doc:"Keys of labels that are removed"`
}
