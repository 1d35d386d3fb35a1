package process

import "os"

// Isolation is what keeps a Host's programs from the executor and from each other.
type Isolation string

// From the strongest to the weakest.
const (
	// IsolationStrict: each program has mount, PID and IPC namespaces of its own, beside a user of its own where it can.
	IsolationStrict Isolation = "strict"
	// IsolationOwnUser: each program runs as a user of its own.
	IsolationOwnUser Isolation = "own-user"
	// IsolationOwnDomain: programs run as one user, each in a Landlock domain of its own: they are kept from the executor's
	// files, memory and environment and from each other's, as far as that version of Landlock can.
	IsolationOwnDomain Isolation = "own-domain"
	// IsolationSharedUser: programs run as one user that is not the executor's: they are kept from it, and not from each
	// other.
	IsolationSharedUser Isolation = "shared-user"
	// IsolationNone: programs run as the executor's user and can do what it can.
	IsolationNone Isolation = "none"
)

// Isolation returns the kinds of isolation that are in force.
func (h *Host) Isolation() Isolation {
	switch {
	case h.namespaces != nil:
		return IsolationStrict
	case h.users != nil:
		return IsolationOwnUser
	case h.domains != nil:
		return IsolationOwnDomain
	case h.config.UID >= 0 && h.config.UID != os.Geteuid():
		return IsolationSharedUser
	}
	return IsolationNone
}

// Gaps returns what programs can do although each has a domain or namespaces of its own, as this kernel cannot prevent it.
func (h *Host) Gaps() []string { return append(h.domains.gaps(), h.namespaces.gaps()...) }

// Hides reports whether programs do not see the processes of other users.
func (h *Host) Hides() bool { return h.threads.hides == nil }
