package executor

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/process"
)

const contractPrefix = "TIDEWHEEL_"

// environment is what a program sees: the contract's variables, a few that every program expects, and the job's own,
// which may replace the latter.
//
// ${NAME} in the job's values and in the arguments stands for a variable of the contract or of the job; a reference to
// anything else, or of a variable to itself, stays as it is. $${NAME} is written for a literal ${NAME}.
type environment struct {
	contract []string          // NAME=value
	own      map[string]string // the job's, as written
	secrets  map[string]string // the job's, by variable: they count before own, and are not expanded
	expanded map[string]string // nil while nothing was expanded
	open     map[string]bool   // being expanded
}

func newEnvironment(task *engine.Task, secrets map[string]string, token uint64, folder *process.Folder, inputs string, deadline time.Time, path string) *environment {
	e := &environment{own: task.Env, secrets: secrets}
	run := task.Run
	e.contract = make([]string, 0, 24+len(task.Env))
	e.contract = append(e.contract,
		"PATH="+path,
		"HOME="+folder.Path,
		"TMPDIR="+folder.Temp,
		"LANG=C.UTF-8",
		"TIDEWHEEL_JOB="+task.Job,
		"TIDEWHEEL_RUN_ID="+run,
		"TIDEWHEEL_ATTEMPT="+strconv.Itoa(task.Attempt),
		"TIDEWHEEL_IDEMPOTENCY_KEY="+run,
		"TIDEWHEEL_FENCING_TOKEN="+strconv.FormatUint(token, 10),
		"TIDEWHEEL_BINARY_SHA256="+task.Digest,
		process.Marker+"="+folder.Path,
		"TRACEPARENT="+engine.TraceParent(run, task.Attempt),
	)
	if !task.Slot.IsZero() {
		e.contract = append(e.contract, "TIDEWHEEL_SLOT="+task.Slot.UTC().Format(time.RFC3339Nano))
	}
	if !deadline.IsZero() {
		e.contract = append(e.contract, "TIDEWHEEL_DEADLINE="+deadline.UTC().Format(time.RFC3339Nano))
	}
	if folder.Keep != "" {
		e.contract = append(e.contract, "TIDEWHEEL_OUTPUT="+folder.Path+"/"+outputName, "TIDEWHEEL_ARTIFACTS="+folder.Keep)
	}
	if task.Task != "" {
		e.contract = append(e.contract,
			"TIDEWHEEL_DAG="+task.DAG,
			"TIDEWHEEL_EPOCH="+strconv.FormatInt(task.Epoch, 10),
			"TIDEWHEEL_TASK="+task.Task,
		)
	}
	if inputs != "" {
		e.contract = append(e.contract, "TIDEWHEEL_INPUTS="+inputs)
	}
	if task.Item != nil {
		e.contract = append(e.contract, "TIDEWHEEL_ITEM="+string(task.ItemValue), "TIDEWHEEL_ITEM_INDEX="+strconv.Itoa(*task.Item))
	}
	return e
}

// list returns the environment as the system wants it: each name once, the job's in the order of their names.
func (e *environment) list() []string {
	if len(e.own) == 0 && len(e.secrets) == 0 {
		return e.contract
	}
	all := slices.DeleteFunc(slices.Clone(e.contract), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, replaced := e.own[name]
		_, secret := e.secrets[name]
		return (replaced || secret) && !reserved(name)
	})
	names := slices.AppendSeq(slices.Collect(maps.Keys(e.secrets)), maps.Keys(e.own))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if usable(name) && !reserved(name) {
			value, _ := e.lookup(name)
			all = append(all, name+"="+value)
		}
	}
	return all
}

// reserved names are the contract's: what a job sets there is not seen.
func reserved(name string) bool {
	return strings.HasPrefix(name, contractPrefix) || name == "TRACEPARENT"
}

// usable names are those that the system can tell from their values.
func usable(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

// path is the PATH that the program sees.
func (e *environment) path() string {
	if path, ok := e.own["PATH"]; ok && path != "" {
		path, _ = e.lookup("PATH")
		return path
	}
	return strings.TrimPrefix(e.contract[0], "PATH=")
}

// lookup returns what a reference stands for.
func (e *environment) lookup(name string) (string, bool) {
	if strings.HasPrefix(name, contractPrefix) {
		for _, variable := range e.contract {
			if n, value, _ := strings.Cut(variable, "="); n == name {
				return value, true
			}
		}
		return "", false
	}
	if value, ok := e.secrets[name]; ok {
		return value, true
	}
	if value, ok := e.expanded[name]; ok {
		return value, true
	}
	value, ok := e.own[name]
	if !ok || e.open[name] {
		return "", false
	}
	if e.open == nil {
		e.open, e.expanded = make(map[string]bool), make(map[string]string)
	}
	e.open[name] = true
	value = e.expand(value)
	delete(e.open, name)
	if len(e.open) == 0 { // inside a circle, it depends on where one begins
		e.expanded[name] = value
	}
	return value, true
}

// expand replaces the references in s.
func (e *environment) expand(s string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	var b strings.Builder
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		name, rest, closed := strings.Cut(s[at+2:], "}")
		if !closed {
			b.WriteString(s)
			return b.String()
		}
		reference := s[at : len(s)-len(rest)]
		var value string
		var known bool
		if at > 0 && s[at-1] == '$' { // escaped: one of the two is dropped
			at, value, known = at-1, reference, true
		} else {
			value, known = e.lookup(name)
		}
		b.WriteString(s[:at])
		if !known {
			// What looks like a name may hold the beginning of another reference.
			b.WriteString("${")
			s = s[at+2:]
			continue
		}
		b.WriteString(value)
		s = rest
	}
}
