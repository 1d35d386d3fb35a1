package jetstream

import (
	"slices"

	"github.com/tidewheel/tidewheel/spec"
)

// Permissions are the subjects that a connection may publish to and subscribe to; it may use no other.
type Permissions struct{ Publish, Subscribe []string }

// ExecutorPermissions lists all that an enrolled executor may do on a NATS: take and acknowledge tasks of its tiers and of some
// pools of them, hold locks, report, and say that it is alive. It is the only such list: credentials are made from it. A subject
// that an executor needs and that is not here is refused by the NATS server.
//
// pools are the tokens of pools of labels. What executors report, and locks, are not divided by tier.
func ExecutorPermissions(prefix, name string, tiers []spec.Tier, pools []string) Permissions {
	n := newNames(prefix)
	may := Permissions{
		Publish: []string{
			n.prefix + "results.*.*.*", n.prefix + "logs.*.*", n.prefix + "wake.*",
			n.lock("*"), n.executor(name),
			// What was decided on an attempt, or holds a lock, is read from the stream's leader.
			"$JS.API.STREAM.MSG.GET." + n.results, "$JS.API.STREAM.MSG.GET.KV_" + n.locks, "$JS.API.STREAM.INFO." + n.results,
			n.directGet(n.order("*")),
		},
		Subscribe: []string{n.control(), n.poolsChanged(), inboxPrefix(name) + ".>"},
	}
	for _, entry := range []string{"protocol", "store", "task-key", "pools"} {
		may.Publish = append(may.Publish, n.directGet(n.entry(entry)))
	}
	for _, tier := range tiers {
		may.Publish = append(may.Publish, n.takes(string(tier))...)
	}
	for _, pool := range pools {
		may.Publish = append(may.Publish, n.takes(pool)...)
	}
	return may
}

// takes lists what it needs to take tasks of a pool and to acknowledge them.
func (n *names) takes(pool string) (subjects []string) {
	for _, class := range classes {
		consumer := taskConsumer(pool, string(class))
		subjects = append(subjects, n.nextTask(consumer), "$JS.ACK."+n.tasks+"."+consumer+".>")
	}
	return subjects
}

// nextTask is where a consumer of tasks is asked for the next ones.
func (n *names) nextTask(consumer string) string {
	return "$JS.API.CONSUMER.MSG.NEXT." + n.tasks + "." + consumer
}

// directGet is where the last entry of LEASES under a subject is asked for. The question is in the subject, so that a permission
// bounds what is read; any replica answers.
func (n *names) directGet(entry string) string {
	return "$JS.API.DIRECT.GET.KV_" + n.leases + "." + entry
}

// inboxPrefix is where answers to an enrolled executor arrive; no other answers do, and no other executor may listen there.
func inboxPrefix(name string) string { return "_INBOX_" + name }

// mayTake reports whether these permissions let an executor take the tasks of a pool.
func (p *Permissions) mayTake(n *names, pool string) bool {
	for _, subject := range n.takes(pool) {
		if !slices.Contains(p.Publish, subject) {
			return false
		}
	}
	return true
}
