package access

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what somebody may do in a namespace. Each role may do what those before it may.
type Role string

// The roles, from the least to the most.
const (
	// Viewer reads definitions, runs, output and artifacts.
	Viewer Role = "viewer"
	// Operator runs, cancels, retries, pauses, resumes, backfills, and replays and purges dead letters.
	Operator Role = "operator"
	// Editor writes and deletes definitions and binaries.
	Editor Role = "editor"
	// Admin sets secrets, members and quotas of a namespace; in all namespaces, also users, executors and backups.
	Admin Role = "admin"
)

// Roles lists the roles from the least to the most.
func Roles() []Role { return []Role{Viewer, Operator, Editor, Admin} }

// ParseRole reads a role as users write it.
func ParseRole(text string) (Role, error) {
	if role := Role(text); slices.Contains(Roles(), role) {
		return role, nil
	}
	names := make([]string, 0, len(Roles()))
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return "", fmt.Errorf("there is no role %q: use %s", text, strings.Join(names, ", "))
}

// Includes reports whether a role may do all that another one may. No role includes an unknown one, and an unknown or empty
// role includes none.
func (r Role) Includes(other Role) bool { return other.rank() >= 0 && r.rank() >= other.rank() }

// rank is a role's place from the least to the most, -1 for none.
func (r Role) rank() int { return slices.Index(Roles(), r) }
