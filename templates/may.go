package templates

import (
	"context"
	"strings"
)

// May says which actions pages offer to their reader. It hides what the server would refuse, and guards nothing.
type May struct {
	Operate bool // start, cancel, retry, pause, resume and backfill
	Edit    bool // save and delete definitions, binaries and secrets
	Admin   bool // members, and the audit log of the namespace
	Root    bool // what belongs to no namespace: executors, all namespaces
}

// words are what scripts read of it: those actions that they offer.
func (m May) words() string {
	var words []string
	if m.Operate {
		words = append(words, "operate")
	}
	if m.Edit {
		words = append(words, "edit")
	}
	if m.Root {
		words = append(words, "root")
	}
	return strings.Join(words, " ")
}

type mayKey struct{}

// WithMay returns the context in which a page is rendered for a reader who may do these things.
func WithMay(ctx context.Context, may May) context.Context {
	return context.WithValue(ctx, mayKey{}, may)
}

// may returns what the reader of a page may do: everything, where nothing says otherwise.
func may(ctx context.Context) May {
	if given, is := ctx.Value(mayKey{}).(May); is {
		return given
	}
	return May{Operate: true, Edit: true, Admin: true, Root: true}
}
