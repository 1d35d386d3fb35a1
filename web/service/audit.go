package service

import (
	"context"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
)

// AuditEntries lists entries of the audit log, the newest first, as audit.Log.List does. Only an admin of all namespaces reads those
// of all; others read those of the namespace that their request is about.
func (s *Service) AuditEntries(ctx context.Context, filter audit.Filter) (entries []audit.Entry, next int64, err error) {
	if !access.From(ctx).May(access.Everywhere, access.Admin) {
		own := access.NamespaceOf(ctx)
		for _, asked := range filter.Namespaces {
			if asked != own {
				return nil, 0, noNamespace(asked)
			}
		}
		filter.Namespaces = []string{own}
	}
	return s.Audit.List(ctx, filter)
}
