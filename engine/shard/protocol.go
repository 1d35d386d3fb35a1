package shard

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// Seat is a shard that the machine works on, from one Recover of it to the next. An answer about an earlier seat of a shard
// is not looked at.
type Seat struct {
	Shard int
	Epoch uint64
}

// Input is an event for the machine. The set is closed.
type Input interface{ input() }

// Owned sets which shards the machine owns from now on. Those that it had before continue undisturbed.
type Owned struct{ Shards []int }

// Bounded sets how many runs of a namespace may be under way with this engine at a time: published, or running. A namespace that
// is not in it has no bound.
type Bounded struct{ Running map[string]int }

// Clock says nothing but the time.
type Clock struct{}

// Recovered answers Recover: the terms are those of the seats, in their order. Incidents are all of the shards, and Alerts is what
// namespaces ask for, both only where Config.Core.Incidents.
type Recovered struct {
	Seats     []Seat
	Terms     []engine.Term
	Active    []Active
	Incidents []engine.Incident
	Alerts    core.AlertRules
	Failed    bool
}

// Active is a job or DAG with runs or waves that have not ended.
type Active struct {
	UID  string
	Runs int       // that have not ended
	Slot time.Time // the latest of these, or of its waves, as far as that is known; zero if it is not
}

// Polled answers Poll with the uids of the jobs that are due.
type Polled struct {
	Seats  []Seat
	UIDs   []string
	Failed bool
}

// Loaded answers Load.
type Loaded struct {
	Seats  []Seat
	UIDs   []string
	Again  int
	Jobs   core.JobsLoaded
	Failed bool
}

// Swept answers Sweep. More says that the store holds more of the same.
type Swept struct {
	Pending  []string // uids
	Commands []engine.Command
	More     bool
	Failed   bool
}

// CommandsLoaded answers LoadCommands: with what the core is to receive, in the order of the commands.
type CommandsLoaded struct {
	Seat     Seat
	Commands []engine.Command
	Received []core.CommandReceived
	Failed   bool
}

// Answered brings a core the answer to an effect.
type Answered struct {
	Seat  Seat
	Event core.Event
}

// BinariesRead answers ReadBinaries; there is no answer where reading failed: it is done again soon enough.
type BinariesRead struct{ Changed core.BinariesChanged }

// AlertsRead answers ReadAlerts; there is no answer where reading failed: it is done again soon enough.
type AlertsRead struct{ Rules core.AlertRules }

// Results brings what executors report. The receipt comes back in an Acknowledge once it has been dealt with.
type Results struct {
	Seat    Seat
	Results []engine.Result
	Receipt Receipt
}

// Receipt is the shell's own handle of a delivery.
type Receipt any

// Woken passes a wake on.
type Woken struct{ Wake engine.Wake }

// Committed answers Commit: an error for each of its commits, as Store.Commit returns them.
type Committed struct {
	Seats  []Seat
	Errors []error
}

func (Owned) input()          {}
func (Bounded) input()        {}
func (Clock) input()          {}
func (Recovered) input()      {}
func (Polled) input()         {}
func (Loaded) input()         {}
func (Swept) input()          {}
func (CommandsLoaded) input() {}
func (Answered) input()       {}
func (BinariesRead) input()   {}
func (AlertsRead) input()     {}
func (Results) input()        {}
func (Woken) input()          {}
func (Committed) input()      {}

// Action is something to be done for the machine. The set is closed.
type Action interface{ action() }

// Recover takes shards over, and then finds the jobs and DAGs of which something has not ended; answered by Recovered.
type Recover struct{ Seats []Seat }

// Listen starts the delivery of a shard's results, from the first unacknowledged on, for this seat.
type Listen struct{ Seat Seat }

// Leave ends the delivery of a shard's results. Why is "" where the shard is another engine's by agreement.
type Leave struct {
	Shard int
	Why   string
}

// Poll asks for the jobs of these shards whose tasks are due in (After, Until]; answered by Polled.
type Poll struct {
	Seats        []Seat
	After, Until time.Time
}

// Load reads jobs; answered by Loaded. Again counts the failures before: the driver waits longer with each.
type Load struct {
	Seats []Seat // of their shards
	UIDs  []string
	Again int
}

// Sweep asks for pending jobs and commands of these shards; answered by Swept.
type Sweep struct{ Shards []int }

// LoadCommands reads what commands about one job or DAG are about; answered by CommandsLoaded.
type LoadCommands struct {
	Seat     Seat
	Commands []engine.Command
}

// ReadBinaries reads binaries again; answered by BinariesRead.
type ReadBinaries struct{ Keys []string }

// ReadAlerts reads again what namespaces ask for; answered by AlertsRead.
type ReadAlerts struct{}

// Perform does one of a core's effects; answered by Answered where the effect has an answer.
type Perform struct {
	Seat   Seat
	Effect core.Effect
}

// Commit writes decisions, one for each of the seats; answered by Committed.
type Commit struct {
	Seats   []Seat
	Commits []engine.ShardCommit
}

// Acknowledge acknowledges a delivery to the queue.
type Acknowledge struct{ Receipt Receipt }

func (Recover) action()      {}
func (Listen) action()       {}
func (Leave) action()        {}
func (Poll) action()         {}
func (Load) action()         {}
func (Sweep) action()        {}
func (LoadCommands) action() {}
func (ReadBinaries) action() {}
func (ReadAlerts) action()   {}
func (Perform) action()      {}
func (Commit) action()       {}
func (Acknowledge) action()  {}

type actions struct{ list []Action }

func (a *actions) add(action Action) { a.list = append(a.list, action) }
