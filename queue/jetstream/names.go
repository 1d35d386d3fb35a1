package jetstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// names are the streams, buckets and subjects of one Tidewheel on a NATS; a prefix keeps several apart.
type names struct {
	prefix   string // of subjects: "" or "staging."
	tasks    string
	results  string
	locks    string
	leases   string
	triggers string
}

func newNames(prefix string) names {
	n := names{tasks: "TASKS", results: "RESULTS", locks: "LOCKS", leases: "LEASES", triggers: "TRIGGERS"}
	if prefix != "" {
		n.prefix = prefix + "."
		n.tasks, n.results, n.locks, n.leases = prefix+"_TASKS", prefix+"_RESULTS", prefix+"_LOCKS", prefix+"_LEASES"
		n.triggers = prefix + "_TRIGGERS"
	}
	return n
}

// task is where a task waits; pool is its tier, or the token of a pool of its tier.
func (n *names) task(pool, class, run string) string {
	return n.prefix + "tasks." + pool + "." + class + "." + run
}

func (n *names) attempt(shard int, run string, attempt int) string {
	return n.prefix + "results." + strconv.Itoa(shard) + "." + run + "." + strconv.Itoa(attempt)
}

func (n *names) shard(shard int) string { return n.prefix + "results." + strconv.Itoa(shard) + ".>" }

// shardOf reads an attempt's subject.
func (n *names) shardOf(subject string) (int, error) {
	_, rest, _ := strings.Cut(strings.TrimPrefix(subject, n.prefix), ".")
	token, _, _ := strings.Cut(rest, ".")
	number, err := strconv.Atoi(token)
	if err != nil || number < 0 || number >= engine.Shards {
		return 0, fmt.Errorf("there is no shard %q", token)
	}
	return number, nil
}

func (n *names) log(run string, attempt int) string {
	return n.prefix + "logs." + run + "." + strconv.Itoa(attempt)
}

// trigger begins the subjects of messages that start runs in a namespace.
func (n *names) trigger(namespace string) string {
	if namespace == "" {
		return n.prefix + "triggers."
	}
	return n.prefix + "triggers." + namespace + "."
}

func (n *names) lock(key string) string      { return "$KV." + n.locks + ".lock." + key }
func (n *names) executor(id string) string   { return "$KV." + n.leases + ".executor." + id }
func (n *names) entry(key string) string     { return "$KV." + n.leases + "." + key }
func (n *names) order(id string) string      { return "$KV." + n.leases + ".order." + id }
func (n *names) engine(id string) string     { return "$KV." + n.leases + ".engine." + id }
func (n *names) lease(shard int) string      { return "$KV." + n.leases + ".shard." + strconv.Itoa(shard) }
func (n *names) floor(shard int) string      { return "$KV." + n.leases + ".floor." + strconv.Itoa(shard) }
func (n *names) control() string             { return n.prefix + "control" }
func (n *names) wake(shard int) string       { return n.prefix + "wake." + strconv.Itoa(shard) }
func (n *names) wakes() string               { return n.prefix + "wake.*" }
func (n *names) poolsChanged() string        { return n.prefix + "pools" }
func taskConsumer(pool, class string) string { return consumerPrefix + pool + "-" + class }

// consumerPrefix begins the names of the consumers of TASKS.
const consumerPrefix = "exec-"

// Every tier and class has a consumer, whether anybody pulls from it or not: a work-queue stream keeps what no
// consumer takes.
var (
	tiers   = []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}
	classes = []spec.Class{spec.ClassPremium, spec.ClassStandard}
)

// poolAndClass reads a task's subject.
func (n *names) poolAndClass(subject string) (pool, class string) {
	rest := strings.TrimPrefix(subject, n.prefix)
	_, rest, _ = strings.Cut(rest, ".")
	pool, rest, _ = strings.Cut(rest, ".")
	class, _, _ = strings.Cut(rest, ".")
	return pool, class
}
