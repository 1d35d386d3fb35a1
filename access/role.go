package access

import "fmt"

// Role is what an identity may do in a namespace. Each role may do all that the previous one may. The zero Role may do nothing.
type Role uint8

// The roles.
const (
	Viewer   Role = iota + 1 // reads definitions, runs and output
	Operator                 // starts, cancels, retries, pauses, resumes and backfills
	Editor                   // saves and deletes definitions, binaries and secrets
	Admin                    // members and the audit log of the namespace; for Everywhere: users, tokens of others, executors, backups, the audit log of all
)

var roleNames = [...]string{Viewer: "viewer", Operator: "operator", Editor: "editor", Admin: "admin"}

// Roles lists all roles, from the least to the most.
func Roles() []Role { return []Role{Viewer, Operator, Editor, Admin} }

// String returns the role's name, "none" for the zero Role.
func (r Role) String() string {
	if r == 0 || int(r) >= len(roleNames) {
		return "none"
	}
	return roleNames[r]
}

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("%q is no role: viewer, operator, editor and admin are", name)
}

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}
