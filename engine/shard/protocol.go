package shard

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Input is something the machine is told. The set is closed.
type Input interface{ input() }

// answer is an input that answers an action of some epoch.
type answer interface{ epochOf() uint64 }

// Start begins the work; it comes first, and once.
type Start struct{}

// Owned says which shards the machine owns from now on. It forgets everything and reads anew; what is under way for
// shards that it owned before is repaired by whoever owns them. The driver reads and listens for these shards from then on.
type Owned struct{ Shards []int }

// Clock says nothing but the time.
type Clock struct{}

// Recovered answers Recover.
type Recovered struct {
	Epoch  uint64
	Jobs   engine.JobsLoaded
	Failed bool
}

// Polled answers Poll with the uids of the jobs that are due.
type Polled struct {
	Epoch  uint64
	UIDs   []string
	Failed bool
}

// Loaded answers Load.
type Loaded struct {
	Epoch  uint64
	UIDs   []string
	Again  int
	Jobs   engine.JobsLoaded
	Failed bool
}

// Swept answers Sweep. More says that the store holds more of the same.
type Swept struct {
	Epoch    uint64
	Pending  []string // uids
	Commands []engine.Command
	More     bool
	Failed   bool
}

// ActiveRun names a run that has not ended.
type ActiveRun struct {
	ID, JobUID string
	Revision   int64
}

// OpenWave names a wave that has not ended.
type OpenWave struct{ ID, DAGUID string }

// Reconciled answers Reconcile; there is no answer where reading failed: it is done again soon enough.
type Reconciled struct {
	Epoch uint64
	Runs  []ActiveRun
	Waves []OpenWave
	// Overdue are the uids of what should have been looked at a while ago, the earliest first.
	Overdue []string
}

// CommandLoaded answers LoadCommand.
type CommandLoaded struct {
	Epoch    uint64
	Command  engine.Command
	Snapshot engine.JobSnapshot
	Run      *engine.Run
	Binaries []engine.Binary
	// Of a command about a wave or the run of a task: see engine.CommandReceived.
	DAG      *engine.DAGSnapshot
	Wave     *engine.Wave
	WaveRuns []engine.Run
	Failed   bool
}

// Answered brings the core the answer to an effect, or to ReadBinaries.
type Answered struct {
	Epoch uint64
	Event engine.Event
}

// Results brings what executors report. The receipt comes back in an Acknowledge once it has been dealt with.
type Results struct {
	Epoch   uint64
	Results []engine.Result
	Receipt Receipt
}

// Receipt is the shell's own handle of a delivery.
type Receipt any

// Woken passes a wake on.
type Woken struct{ Wake engine.Wake }

// Committed answers Commit. Failed means that any part may have been written.
type Committed struct {
	Epoch     uint64
	Conflicts []engine.Conflict
	Failed    bool
}

// RefusedRead answers ReadRefused, which asked for that many runs.
type RefusedRead struct {
	Epoch  uint64
	Asked  int
	Runs   []engine.Run
	Failed bool
}

// StrangeRead answers ReadStrange, which asked about these results.
type StrangeRead struct {
	Epoch   uint64
	Results []engine.Result
	Runs    []engine.Run
	Failed  bool
}

func (StrangeRead) input()   {}
func (Start) input()         {}
func (Owned) input()         {}
func (Clock) input()         {}
func (Recovered) input()     {}
func (Polled) input()        {}
func (Loaded) input()        {}
func (Swept) input()         {}
func (CommandLoaded) input() {}
func (Answered) input()      {}
func (Results) input()       {}
func (Woken) input()         {}
func (Committed) input()     {}
func (RefusedRead) input()   {}
func (Reconciled) input()    {}

func (a StrangeRead) epochOf() uint64   { return a.Epoch }
func (a Recovered) epochOf() uint64     { return a.Epoch }
func (a Polled) epochOf() uint64        { return a.Epoch }
func (a Loaded) epochOf() uint64        { return a.Epoch }
func (a Swept) epochOf() uint64         { return a.Epoch }
func (a CommandLoaded) epochOf() uint64 { return a.Epoch }
func (a Answered) epochOf() uint64      { return a.Epoch }
func (a Results) epochOf() uint64       { return a.Epoch }
func (a Committed) epochOf() uint64     { return a.Epoch }
func (a RefusedRead) epochOf() uint64   { return a.Epoch }
func (a Reconciled) epochOf() uint64    { return a.Epoch }

// Action is something to be done for the machine. The set is closed.
type Action interface{ action() }

// Recover reads all runs of the machine's shards that have not ended, with their jobs; answered by Recovered.
type Recover struct {
	Epoch uint64
	Due   time.Time // see Loader.Jobs
}

// Listen starts the delivery of results, from the first unacknowledged on, under this epoch.
type Listen struct{ Epoch uint64 }

// Reset stops the delivery of results. The machine has forgotten everything and will recover.
type Reset struct {
	Epoch uint64
	Why   string
}

// Poll asks for the jobs whose tasks are due in (After, Until]; answered by Polled.
type Poll struct {
	Epoch        uint64
	After, Until time.Time
}

// Load reads jobs; answered by Loaded. Again counts the failures before: the driver waits longer with each.
type Load struct {
	Epoch uint64
	UIDs  []string
	Again int
	Due   time.Time // see Loader.Jobs
}

// Sweep asks for pending jobs and commands; answered by Swept.
type Sweep struct{ Epoch uint64 }

// Reconcile reads which runs and waves have not ended, and what was due until an instant; answered by Reconciled.
type Reconcile struct {
	Epoch uint64
	Until time.Time
}

// LoadCommand reads what a command is about; answered by CommandLoaded.
type LoadCommand struct {
	Epoch   uint64
	Command engine.Command
	Due     time.Time // see Loader.Jobs
}

// ReadBinaries reads binaries again; answered by Answered with engine.BinariesChanged.
type ReadBinaries struct {
	Epoch uint64
	Keys  []string
}

// Perform does one of the core's effects; answered by Answered where the effect has an answer.
type Perform struct {
	Epoch  uint64
	Effect engine.Effect
}

// Commit writes a batch; answered by Committed.
type Commit struct {
	Epoch uint64
	Batch *engine.Batch
}

// ReadRefused reads runs whose insertion was refused; answered by RefusedRead.
type ReadRefused struct {
	Epoch uint64
	IDs   []string
}

// ReadStrange reads the runs of results that the core could not place; answered by StrangeRead.
type ReadStrange struct {
	Epoch   uint64
	Results []engine.Result
}

// IDs names the runs.
func (a ReadStrange) IDs() []string {
	var ids []string
	for i := range a.Results {
		ids = append(ids, a.Results[i].Run)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Acknowledge tells the queue that a delivery has been dealt with.
type Acknowledge struct{ Receipt Receipt }

func (ReadStrange) action()  {}
func (Recover) action()      {}
func (Listen) action()       {}
func (Reset) action()        {}
func (Poll) action()         {}
func (Load) action()         {}
func (Sweep) action()        {}
func (Reconcile) action()    {}
func (LoadCommand) action()  {}
func (ReadBinaries) action() {}
func (Perform) action()      {}
func (Commit) action()       {}
func (ReadRefused) action()  {}
func (Acknowledge) action()  {}

type actions struct{ list []Action }

func (a *actions) add(action Action) { a.list = append(a.list, action) }
