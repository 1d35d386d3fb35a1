package access

import "context"

// Everywhere stands for every namespace in Grants, and for what belongs to no namespace: users, executors, backups.
const Everywhere = "*"

// Grants are roles by namespace; Everywhere is one of the keys.
type Grants map[string]Role

// In returns the role in a namespace: the higher one of the namespace's own grant and that for Everywhere.
func (g Grants) In(namespace string) Role { return max(g[namespace], g[Everywhere]) }

// lowered returns the grants that both allow: in each namespace the lower role.
func (g Grants) lowered(other Grants) Grants {
	both := Grants{}
	for _, grants := range []Grants{g, other} {
		for namespace := range grants {
			if role := min(g.In(namespace), other.In(namespace)); role > 0 {
				both[namespace] = role
			}
		}
	}
	return both
}

// Kind is what kind of identity acts.
type Kind string

// The kinds of identities.
const (
	KindUser  Kind = "user"  // a person with a session
	KindToken Kind = "token" // an API token
	KindRoot  Kind = "root"  // the token of the data folder or of --token-file: admin everywhere
	KindLocal Kind = "local" // --auth off: admin everywhere
	KindRun   Kind = "run"   // a running program: it may open the effects of its run, and has no role
)

// Identity is the user that makes a request, with their rights. It is read for each request.
type Identity struct {
	Kind   Kind
	Name   string // unique within the kind; what created_by, triggered by and the audit log show
	User   string // whose it is: the name of a user, RootName or LocalName; a token's Name is User/name
	Grants Grants
	// Session is the id of the session and Token the id of the API token that the request was made with; "" for none.
	Session, Token string
	Address        string // where the request comes from

	stamp  string // of the user when the identity was proven
	issued bool   // an issuer vouches for the user
}

// Local returns the identity of all who use a server with --auth off.
func Local() Identity {
	return Identity{Kind: KindLocal, Name: LocalName, User: LocalName, Grants: Grants{Everywhere: Admin}}
}

func rootIdentity(stamp string) Identity {
	return Identity{Kind: KindRoot, Name: RootName, User: RootName, Grants: Grants{Everywhere: Admin}, stamp: stamp}
}

// May reports whether the identity has at least a role in a namespace.
func (i Identity) May(namespace string, least Role) bool {
	return least > 0 && i.Grants.In(namespace) >= least
}

type identityKey struct{}

// With returns a context in which an identity acts.
func With(ctx context.Context, identity Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, identity)
}

// From returns the identity that acts in a context; the zero Identity, which may do nothing, where there is none.
func From(ctx context.Context) Identity {
	identity, _ := ctx.Value(identityKey{}).(Identity)
	return identity
}
