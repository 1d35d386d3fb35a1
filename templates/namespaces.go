package templates

// Namespaces is the page of the namespaces that its reader may read.
type Namespaces struct {
	Page    Page
	Rows    []NamespaceRow
	Problem string // why the last one was not made, or ""
	Name    string // as it was typed
}

// NamespaceRow is one namespace.
type NamespaceRow struct {
	Name, Description, Role string
	Current                 bool
	Usage                   []QuotaUse
	// Members are shown to admins of the namespace only, who may change them.
	Members []NamespaceMember
	Admin   bool
	Problem string // why the last change of a member was refused, or ""
}

// membersShown is how many members of a namespace the page lists.
const membersShown = 50

// NamespaceMember is a user with a role.
type NamespaceMember struct {
	User, Role string
	All        bool   // the role is for all namespaces
	From       string // the issuer whose groups give it; "" for none
}

// QuotaUse is what a namespace uses of one thing that its quota may bound.
type QuotaUse struct {
	What  string // "jobs"
	Used  string
	Bound string // "" for none
	Share int    // of the bound in percent, at most 100
}

// Full reports whether nothing more is allowed.
func (q *QuotaUse) Full() bool { return q.Bound != "" && q.Share == 100 }
