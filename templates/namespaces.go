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
