package templates

// Docs is a page of the documents.
type Docs struct {
	Page     Page
	Groups   []DocsGroup
	Group    string // of this page, "" on the first
	Title    string
	HTML     string // rendered from the documents themselves
	Headings []DocsLink
}

// DocsGroup is a part of the list of documents.
type DocsGroup struct {
	Name  string
	Open  bool // shown at once; the others open at a click
	Pages []DocsLink
}

// DocsLink leads to a page, or to a heading of one.
type DocsLink struct {
	Name, Href string
	Current    bool
}

// Reference is the description of the API.
type Reference struct {
	Docs    Docs
	Intro   []string // paragraphs
	Tags    []ReferenceTag
	Schemas []ReferenceSchema
}

// ReferenceTag is a group of operations.
type ReferenceTag struct {
	Name, Text string
	Operations []ReferenceOperation
}

// ReferenceOperation is one request.
type ReferenceOperation struct {
	ID, Method, Path, Summary string
	Text                      string
	Parameters                []ReferenceField
	Body                      []ReferenceContent
	Answers                   []ReferenceAnswer
	Example                   string // of the body
}

// ReferenceContent is a type of body.
type ReferenceContent struct {
	Type string
	Of   ReferenceType
}

// ReferenceAnswer is what may come back.
type ReferenceAnswer struct {
	Status, Text string
	Content      []ReferenceContent
}

// ReferenceField is a parameter, or a field of a schema.
type ReferenceField struct {
	Name, In string
	Required bool
	Of       ReferenceType
	Text     string
}

// ReferenceType is what a value is: a word, and the schema that it leads to.
type ReferenceType struct{ Name, Schema string }

// ReferenceSchema is an object that requests and answers hold.
type ReferenceSchema struct {
	Name, Text string
	Fields     []ReferenceField
}
