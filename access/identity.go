package access

import "context"

// Identity is who makes a request.
type Identity struct {
	// Name is what history and the audit log call them: "ada", or "ada/deploy" for a token of hers.
	Name   string
	User   string // whose password, token or session it is; "" for what is no user's, such as the token of the data folder
	Token  string // the id of the token that was sent; "" for a session
	Grants Grants
}

// Administrator is who holds the server itself: its data folder's token, or a user where authentication is off.
func Administrator(name string) Identity {
	return Identity{Name: name, Grants: Grants{Everywhere: Admin}}
}

type identityKey struct{}

// With returns a context whose requests are made by an identity.
func With(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// From returns who makes the request of a context; one without grants where nobody was let in.
func From(ctx context.Context) Identity {
	who, _ := ctx.Value(identityKey{}).(Identity)
	return who
}
