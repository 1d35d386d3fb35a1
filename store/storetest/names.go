package storetest

import "context"

// Names is what a search by name asks of a store.
type Names interface {
	// JobNames lists the names of a namespace's living jobs that are not below from, in the order of their bytes, at most
	// limit.
	JobNames(ctx context.Context, namespace, from string, limit int) ([]string, error)
	// BinaryNames does the same for binaries.
	BinaryNames(ctx context.Context, namespace, from string, limit int) ([]string, error)
}

func (h *harness) names(list func(context.Context, string, string, int) ([]string, error), from string, limit int) []string {
	h.Helper()
	names, err := list(h.ctx, namespace, from, limit)
	h.must("list names", err)
	return names
}

var namePromises = []promise{
	{"names of jobs are listed from one on, in order, without those that are deleted", func(h *harness) {
		for _, name := range []string{"beta", "alpha", "Zulu", "alpha-2", "gamma", "delta"} {
			h.createJob(aJob(name))
		}
		elsewhere := aJob("bravo")
		elsewhere.Namespace = "other"
		h.createJob(elsewhere)
		gone := aJob("delta")
		gone.Revision, gone.Deleted = 2, true
		h.must("delete", h.store.Jobs().Replace(h.ctx, gone))
		same(h.T, "all", h.names(h.store.JobNames, "", 10), []string{"Zulu", "alpha", "alpha-2", "beta", "gamma"})
		same(h.T, "from a name that is there", h.names(h.store.JobNames, "alpha", 2), []string{"alpha", "alpha-2"})
		same(h.T, "from a name that is not", h.names(h.store.JobNames, "alpha-", 2), []string{"alpha-2", "beta"})
		same(h.T, "past the last", len(h.names(h.store.JobNames, "zz", 10)), 0)
	}},
	{"names of binaries are listed from one on, in order", func(h *harness) {
		for _, name := range []string{"report", "Fetch", "join"} {
			h.createBinary(aBinary(name))
		}
		elsewhere := aBinary("elsewhere")
		elsewhere.Namespace = "other"
		h.createBinary(elsewhere)
		same(h.T, "all", h.names(h.store.BinaryNames, "", 10), []string{"Fetch", "join", "report"})
		same(h.T, "from one on", h.names(h.store.BinaryNames, "g", 1), []string{"join"})
		same(h.T, "past the last", len(h.names(h.store.BinaryNames, "s", 10)), 0)
	}},
}
