package wire

import "time"

// Namespace is a tenant: it owns jobs, DAGs, binaries and secrets, and users have roles in it.
type Namespace struct {
	Name        string    `json:"name" example:"finance"`
	Description string    `json:"description,omitempty"`
	Role        string    `json:"role" enum:"viewer,operator,editor,admin" doc:"What the sender of the request may do in it"`
	CreatedAt   time.Time `json:"created_at,omitzero"`
	CreatedBy   string    `json:"created_by,omitempty"`
}

// NewNamespace makes a namespace.
type NewNamespace struct {
	Name        string `json:"name" maxLength:"128" doc:"Letters, digits, - and _" example:"finance"`
	Description string `json:"description,omitempty" doc:"What it is for, at most 500 bytes"`
}

// NamespaceSettings are what can be changed of a namespace.
type NamespaceSettings struct {
	Description string `json:"description" doc:"What it is for, at most 500 bytes"`
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
