package issuer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/access"
)

// GroupRole is a role that a group gives.
type GroupRole struct {
	Group     string
	Role      access.Role
	Namespace string // access.Everywhere for all
}

// ParseGroupRole reads GROUP=ROLE[@NAMESPACE]. A group may contain =, as in LDAP.
func ParseGroupRole(text string) (GroupRole, error) {
	at := strings.LastIndexByte(text, '=')
	if at < 1 || strings.TrimSpace(text[:at]) == "" {
		return GroupRole{}, errors.New("it is not GROUP=ROLE or GROUP=ROLE@NAMESPACE")
	}
	name, namespace, scoped := strings.Cut(strings.TrimSpace(text[at+1:]), "@")
	role, err := access.ParseRole(name)
	if err != nil {
		return GroupRole{}, err
	}
	if !scoped {
		namespace = access.Everywhere
	}
	if namespace == "" || len(namespace) > 128 {
		return GroupRole{}, fmt.Errorf("%q is no namespace: leave out the @ for all", namespace)
	}
	return GroupRole{Group: strings.TrimSpace(text[:at]), Role: role, Namespace: namespace}, nil
}

// Grants returns the roles that groups give: in each namespace the highest.
func (p *Provider) Grants(groups []string) access.Grants {
	grants := access.Grants{}
	for _, group := range groups {
		for _, mapped := range p.config.Roles {
			if mapped.Group == group {
				grants[mapped.Namespace] = max(grants[mapped.Namespace], mapped.Role)
			}
		}
	}
	return grants
}
