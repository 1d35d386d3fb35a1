package templates

import (
	"strconv"
	"time"
)

// Wave is the page of one pass through a DAG.
type Wave struct {
	Page       Page
	ID         string
	DAG        string
	DAGGone    bool // there is no DAG of this name any more, or another one has it
	Epoch      int64
	Status     string
	Ended      bool
	Reason     string
	Trigger    string
	By         string
	CancelBy   string
	Resumed    int
	Rested     time.Duration // between an end and a resume
	Slot       time.Time
	Slots      []WaveSlot
	Payload    string // JSON; "" for that of the definition
	Args       []Fact
	Generation int64
	Created    time.Time
	Started    time.Time
	Finished   time.Time
	Waits      []WaveWait // what it waits for
	Before     string     // the id of the wave before it; "" for none
	After      string
	CanCancel  bool
	CanResume  bool

	Counts   []WaveCount // how many tasks are in each state, the address of each narrows the table
	All      WaveCount
	Graph    Graph
	View     string // of the tasks, as the address asks for it
	Critical string // the critical path, in words; "" before anything ran
	Filter   WaveFilter
	Tasks    []TaskRow
	Shown    string // which of how many tasks the table shows, in words
	Pager    Pager
	Items    *TaskItems // of the mapped task that is unfolded
	Live     string     // where the part that refreshes is fetched again
}

// WaveSlot is the slot of a root.
type WaveSlot struct {
	Root string
	At   time.Time
}

// WaveWait is something that a wave, or its roots, wait for.
type WaveWait struct {
	Words string
	At    time.Time // when it comes; zero where that is not known
	Href  string    // "" for none
}

// WaveCount is how many tasks are in a state.
type WaveCount struct {
	State  string
	N      int
	Href   string
	Chosen bool
}

// WaveFilter is what the table of a wave's tasks is narrowed to.
type WaveFilter struct {
	State, Text string
}

// TaskRow is a task of a wave.
type TaskRow struct {
	Name      string
	State     string
	Reason    string
	Run       string // "" where there is none
	Attempts  int
	Started   time.Time
	Since     time.Time // Started, moved by how long the wave rested while the task had begun
	Finished  time.Time
	Took      string
	Progress  *Progress
	Outputs   string // the first of them, in words
	Artifacts int
	Critical  bool
	CanMark   bool
	Mapped    bool
	Counts    []WaveCount // of a mapped task: its items
	ItemsHref string      // unfolds them, or folds them again
	Open      bool
}

// TaskItems are the items of a mapped task.
type TaskItems struct {
	Task  string
	Rows  []ItemRow
	Shown string
	Next  string // address; "" for none
}

// ItemRow is an item of a mapped task.
type ItemRow struct {
	N        int
	Run      string
	Status   string
	Reason   string
	Attempts int
	Took     string
}

// WaveMarking is the page that asks how a task is to count.
type WaveMarking struct {
	Page    Page
	ID      string
	DAG     string
	Epoch   int64
	Task    string
	State   string
	Ended   bool // the wave has
	Mark    string
	Problem string
	After   int // how many tasks come after it
}

// choices say what each way to count does.
func (v WaveMarking) choices() []Option {
	follow := "What needs it goes on as if it had "
	if v.Ended {
		follow = "The wave goes on from here, and what needs it is decided anew, as if it had "
	}
	choices := []Option{
		{Value: "succeeded", Name: follow + "succeeded. It leaves no outputs: a task that reads some fails."},
		{Value: "skipped", Name: follow + "been skipped: nothing is wrong, and most of what needs it is skipped too."},
	}
	if !v.Ended { // a wave that has ended goes on with what failed
		choices = append(choices, Option{Value: "failed", Name: follow + "failed: what needs it follows its trigger rule."})
	}
	return choices
}

func wavePath(id, rest string) string { return "/waves/" + id + rest }

func waveTitle(epoch int64) string {
	if epoch == 0 {
		return "Upcoming wave"
	}
	return "Wave " + strconv.FormatInt(epoch, 10)
}

func timesWords(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}

// waveEvery is how often the page of a wave asks by itself where no events come. One that has ended may be resumed.
func waveEvery(ended bool) string {
	if ended {
		return "15s"
	}
	return "2s"
}

// taskPage is where a task's name leads without scripts: its run, or what there is to say before it has one.
func (v Wave) taskPage(task TaskRow) string {
	if task.Run != "" {
		return "/runs/" + task.Run
	}
	return v.Graph.Path + queryEscape(task.Name)
}
