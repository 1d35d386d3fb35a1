// Package wire holds what the REST API says, as Go values: the bodies that web/api writes and that client reads. There
// is one set of them, so that server and client cannot drift apart, and the OpenAPI document is made from their tags.
//
// JSON is snake_case, times are RFC 3339 with fractions, durations are Go's ("90s"), digests are hex, sizes are bytes.
// A field may be added at any time; a reader passes over what it does not know.
//
// It may import spec and engine for their vocabulary, and nothing else of Tidewheel.
package wire

// List is one page of a list.
type List[T any] struct {
	Items []T    `json:"items" doc:"The entries of this page"`
	Next  string `json:"next" doc:"Give it as cursor to get the next page; empty on the last one"`
}
