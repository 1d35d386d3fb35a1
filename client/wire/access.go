package wire

import "time"

// User is a person who signs in.
type User struct {
	Name string `json:"name" example:"ada"`
	// Grants are roles by namespace.
	Grants    map[string]string `json:"grants" doc:"The role (viewer, operator, editor, admin) in each namespace; * is all of them"`
	Disabled  bool              `json:"disabled"`
	From      string            `json:"from,omitempty" doc:"The issuer where the user signs in; absent for a user with a password"`
	CreatedAt time.Time         `json:"created_at"`
	CreatedBy string            `json:"created_by,omitempty"`
	LastLogin time.Time         `json:"last_login,omitzero"`
}

// NewUser makes a user.
type NewUser struct {
	Name     string            `json:"name" maxLength:"64" doc:"Letters, digits and . _ @ + -; kept in lower case" example:"ada"`
	Password string            `json:"password" doc:"10 to 1024 bytes"`
	Grants   map[string]string `json:"grants,omitzero" doc:"The role (viewer, operator, editor, admin) in each namespace; * is all of them"`
}

// UserChange changes a user; what is absent stays.
type UserChange struct {
	Password        *string           `json:"password,omitempty" doc:"A new password of 10 to 1024 bytes: it ends the user's sessions and tokens"`
	CurrentPassword string            `json:"current_password,omitempty" doc:"Of a user who is no admin and changes their own password"`
	Grants          map[string]string `json:"grants,omitzero" doc:"All roles of the user by namespace; * is all of them; {} takes all roles away"`
	Disabled        *bool             `json:"disabled,omitempty" doc:"A disabled user cannot sign in; disabling ends their sessions and tokens"`
}

// Identity is who makes a request.
type Identity struct {
	Kind    string            `json:"kind" doc:"user, token, root or local"`
	Name    string            `json:"name" doc:"As in created_by and the audit log" example:"ada/deploy"`
	User    string            `json:"user" doc:"Whose it is" example:"ada"`
	Grants  map[string]string `json:"grants" doc:"The role in each namespace; * is all of them"`
	Session string            `json:"session,omitempty" doc:"The id of the session that the request belongs to"`
	Token   string            `json:"token,omitempty" doc:"The id of the API token that the request was made with"`
}

// NewToken makes an API token.
type NewToken struct {
	Name      string            `json:"name,omitempty" maxLength:"64" doc:"Unique among those of its owner; made up where it is absent" example:"deploy"`
	Grants    map[string]string `json:"grants,omitzero" doc:"The most that the token may, by namespace, * being all; absent: all that its owner may"`
	ExpiresAt time.Time         `json:"expires_at,omitzero" doc:"Absent: never"`
}

// Token is an API token, without what opens.
type Token struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Owner     string            `json:"owner"`
	Prefix    string            `json:"prefix" doc:"How the token begins" example:"tw_4fkq"`
	Grants    map[string]string `json:"grants,omitzero" doc:"The most that it may; absent: all that its owner may"`
	CreatedAt time.Time         `json:"created_at"`
	ExpiresAt time.Time         `json:"expires_at,omitzero"`
	LastUsed  time.Time         `json:"last_used,omitzero" doc:"To the minute"`
}

// MadeToken is a token that was just made: only here it is shown whole.
type MadeToken struct {
	Token  string `json:"token" doc:"What opens. It is shown here once and kept nowhere" example:"tw_…"`
	Detail Token  `json:"detail"`
}

// Session is one of a browser.
type Session struct {
	ID        string    `json:"id"`
	User      string    `json:"user"`
	Current   bool      `json:"current" doc:"Whether the request belongs to it"`
	CreatedAt time.Time `json:"created_at"`
	LastSeen  time.Time `json:"last_seen" doc:"To the minute"`
	ExpiresAt time.Time `json:"expires_at"`
	Address   string    `json:"address,omitempty"`
	Agent     string    `json:"agent,omitempty"`
}
