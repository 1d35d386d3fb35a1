package jetstream

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// Tasks, results and lock holders travel as JSON. encoding/json took a fifth of all that the queue does for a run, so
// that what every run has is written and read here, and what few have goes to encoding/json piece by piece.
//
// Writing gives the very bytes that encoding/json would, and a test that fills every field says so: a new field that
// is forgotten here fails it. Reading takes what writing gives; of anything else (another order is fine, but an escape,
// a null, an unknown key, a fraction) it takes nothing and leaves the whole message to encoding/json.

func encodeTask(b []byte, t *engine.Task) ([]byte, error) {
	e := encoder{b: b}
	e.text(`{"run":`, t.Run)
	e.int(`,"attempt":`, int64(t.Attempt))
	e.int(`,"shard":`, int64(t.Shard))
	e.text(`,"job_uid":`, t.JobUID)
	e.text(`,"namespace":`, t.Namespace)
	e.text(`,"job":`, t.Job)
	e.text(`,"lock":`, t.Lock)
	e.timeUnlessZero(`,"slot":`, t.Slot)
	e.text(`,"tier":`, string(t.Tier))
	e.text(`,"class":`, string(t.Class))
	e.time(`,"queued_at":`, t.QueuedAt)
	e.int(`,"generation":`, t.Generation)
	if len(t.RunsOn) > 0 {
		e.other(`,"runs_on":`, t.RunsOn)
	}
	e.text(`,"digest":`, t.Digest)
	e.int(`,"size":`, t.Size)
	e.text(`,"kind":`, t.Kind)
	e.textUnlessEmpty(`,"interpreter":`, t.Interpreter)
	e.textUnlessEmpty(`,"dag":`, t.DAG)
	e.intUnlessZero(`,"epoch":`, t.Epoch)
	e.textUnlessEmpty(`,"task":`, t.Task)
	if t.Item != nil {
		e.int(`,"item":`, int64(*t.Item))
	}
	if len(t.ItemValue) > 0 {
		e.other(`,"item_value":`, t.ItemValue)
	}
	if len(t.Inputs) > 0 {
		e.other(`,"inputs":`, t.Inputs)
	}
	if len(t.Args) > 0 {
		separator := `,"args":[`
		for _, arg := range t.Args {
			e.text(separator, arg)
			separator = ","
		}
		e.b = append(e.b, ']')
	}
	if len(t.Env) > 0 {
		e.other(`,"env":`, t.Env)
	}
	if len(t.Payload) > 0 {
		e.other(`,"payload":`, t.Payload)
	}
	e.int(`,"timeout":`, int64(t.Timeout))
	e.int(`,"grace":`, int64(t.Grace))
	if t.Limits != (spec.Limits{}) {
		e.limits(&t.Limits)
	}
	if t.Once {
		e.b = append(e.b, `,"once":true`...)
	}
	e.textUnlessEmpty(`,"api":`, t.API)
	e.textUnlessEmpty(`,"run_key":`, t.RunKey)
	e.b = append(e.b, '}')
	return e.b, wrap("encode task", e.err)
}

func (e *encoder) limits(l *spec.Limits) {
	e.b = append(e.b, `,"limits":{`...)
	first := len(e.b)
	comma := func() {
		if len(e.b) > first {
			e.b = append(e.b, ',')
		}
	}
	if l.Memory != 0 {
		e.text(`"memory":`, l.Memory.String())
	}
	if l.CPU != 0 {
		comma()
		e.other(`"cpu":`, l.CPU)
	}
	if l.Output != 0 {
		comma()
		e.text(`"output":`, l.Output.String())
	}
	if l.OpenFiles != 0 {
		comma()
		e.int(`"open_files":`, int64(l.OpenFiles))
	}
	e.b = append(e.b, '}')
}

func encodeResult(b []byte, r *engine.Result) ([]byte, error) {
	e := encoder{b: b}
	e.text(`{"kind":`, string(r.Kind))
	e.text(`,"run":`, r.Run)
	e.int(`,"attempt":`, int64(r.Attempt))
	e.int(`,"shard":`, int64(r.Shard))
	e.textUnlessEmpty(`,"executor":`, r.Executor)
	if r.Token != 0 {
		e.b = strconv.AppendUint(append(e.b, `,"token":`...), r.Token, 10)
	}
	e.time(`,"at":`, r.At)
	if r.Asks {
		e.b = append(e.b, `,"asks":true`...)
	}
	if r.Progress != nil {
		e.other(`,"progress":`, r.Progress)
	}
	e.textUnlessEmpty(`,"waits":`, r.Waits)
	if r.Finish != nil {
		e.finish(r.Finish)
	}
	e.b = append(e.b, '}')
	return e.b, wrap("encode result", e.err)
}

func (e *encoder) finish(f *engine.Finish) {
	e.text(`,"finish":{"status":`, f.Status.String())
	if f.ExitCode != nil {
		e.int(`,"exit_code":`, int64(*f.ExitCode))
	}
	e.textUnlessEmpty(`,"signal":`, f.Signal)
	e.textUnlessEmpty(`,"error":`, f.Error)
	if f.NoRetry {
		e.b = append(e.b, `,"no_retry":true`...)
	}
	if f.HandedBack {
		e.b = append(e.b, `,"handed_back":true`...)
	}
	if f.Unfetched {
		e.b = append(e.b, `,"unfetched":true`...)
	}
	e.timeUnlessZero(`,"fetched_at":`, f.FetchedAt)
	e.timeUnlessZero(`,"started_at":`, f.StartedAt)
	e.time(`,"finished_at":`, f.FinishedAt)
	if f.Usage != nil {
		e.int(`,"usage":{"cpu":`, int64(f.Usage.CPU))
		e.int(`,"max_rss":`, f.Usage.MaxRSS)
		e.b = append(e.b, '}')
	}
	if f.Output != nil {
		e.int(`,"output":{"size":`, f.Output.Size)
		e.int(`,"lines":`, f.Output.Lines)
		if len(f.Output.Tail) > 0 {
			e.b = base64.StdEncoding.AppendEncode(append(e.b, `,"tail":"`...), f.Output.Tail)
			e.b = append(e.b, '"')
		}
		e.intUnlessZero(`,"chunks":`, int64(f.Output.Chunks))
		e.intUnlessZero(`,"truncated":`, f.Output.Truncated)
		e.intUnlessZero(`,"lost":`, f.Output.Lost)
		e.b = append(e.b, '}')
	}
	if len(f.Outputs) > 0 {
		e.other(`,"outputs":`, f.Outputs)
	}
	if len(f.Artifacts) > 0 {
		e.other(`,"artifacts":`, f.Artifacts)
	}
	e.b = append(e.b, '}')
}

func encodeHolder(b []byte, h executor.LockHolder) ([]byte, error) {
	e := encoder{b: b}
	e.text(`{"run":`, h.Run)
	e.int(`,"attempt":`, int64(h.Attempt))
	e.text(`,"executor":`, h.Executor)
	e.textUnlessEmpty(`,"try":`, h.Try)
	e.b = append(e.b, '}')
	return e.b, wrap("encode holder", e.err)
}

func decodeTask(data []byte) (task engine.Task, err error) {
	d := newDecoder(data)
	if d.task(&task); d.ended() {
		return task, nil
	}
	task = engine.Task{}
	err = json.Unmarshal(data, &task)
	return task, err
}

func (d *decoder) task(t *engine.Task) {
	for key := d.open(); key != ""; key = d.next() {
		switch key {
		case "run":
			t.Run = d.text()
		case "attempt":
			t.Attempt = int(d.int())
		case "shard":
			t.Shard = int(d.int())
		case "job_uid":
			t.JobUID = d.text()
		case "namespace":
			t.Namespace = d.text()
		case "job":
			t.Job = d.text()
		case "lock":
			t.Lock = d.text()
		case "slot":
			d.time(&t.Slot)
		case "tier":
			t.Tier = known(d.text(), tiers)
		case "class":
			t.Class = known(d.text(), classes)
		case "queued_at":
			d.time(&t.QueuedAt)
		case "generation":
			t.Generation = d.int()
		case "runs_on":
			d.other(&t.RunsOn, t.RunsOn == nil)
		case "digest":
			t.Digest = d.text()
		case "size":
			t.Size = d.int()
		case "kind":
			t.Kind = d.text()
		case "interpreter":
			t.Interpreter = d.text()
		case "dag":
			t.DAG = d.text()
		case "epoch":
			t.Epoch = d.int()
		case "task":
			t.Task = d.text()
		case "item":
			item := int(d.int())
			t.Item = &item
		case "item_value":
			d.other(&t.ItemValue, t.ItemValue == nil)
		case "inputs":
			d.other(&t.Inputs, t.Inputs == nil)
		case "args":
			t.Args = d.texts()
		case "env":
			d.other(&t.Env, t.Env == nil)
		case "payload":
			d.other(&t.Payload, t.Payload == nil)
		case "timeout":
			t.Timeout = time.Duration(d.int())
		case "grace":
			t.Grace = time.Duration(d.int())
		case "limits":
			d.failed = d.failed || t.Limits != (spec.Limits{}) // a second one would be merged into the first
			d.limits(&t.Limits)
		case "once":
			d.other(&t.Once, true)
		case "api":
			t.API = d.text()
		case "run_key":
			t.RunKey = d.text()
		default:
			d.failed = true
		}
	}
}

func (d *decoder) limits(l *spec.Limits) {
	for key := d.open(); key != ""; key = d.next() {
		switch key {
		case "memory":
			l.Memory = d.size()
		case "cpu":
			d.other(&l.CPU, l.CPU == 0)
		case "output":
			l.Output = d.size()
		case "open_files":
			l.OpenFiles = int(d.int())
		default:
			d.failed = true
		}
	}
}

// defaultOutput is the limit that nearly every task has.
var defaultOutput = spec.DefaultOutput.String()

func (d *decoder) size() (size spec.Size) {
	text := d.text()
	if text == defaultOutput {
		return spec.DefaultOutput
	}
	d.failed = d.failed || size.UnmarshalText([]byte(text)) != nil
	return size
}

// decodeResult does not set Sequence.
func decodeResult(data []byte) (result engine.Result, err error) {
	d := newDecoder(data)
	if d.result(&result); d.ended() {
		return result, nil
	}
	result = engine.Result{}
	err = json.Unmarshal(data, &result)
	return result, err
}

var resultKinds = []engine.ResultKind{
	engine.ResultStarted, engine.ResultProgress, engine.ResultFinished, engine.ResultRevoked, engine.ResultLost,
}

func (d *decoder) result(r *engine.Result) {
	for key := d.open(); key != ""; key = d.next() {
		switch key {
		case "kind":
			r.Kind = known(d.text(), resultKinds)
		case "run":
			r.Run = d.text()
		case "attempt":
			r.Attempt = int(d.int())
		case "shard":
			r.Shard = int(d.int())
		case "executor":
			r.Executor = d.text()
		case "token":
			r.Token = d.uint()
		case "at":
			d.time(&r.At)
		case "asks":
			d.other(&r.Asks, true)
		case "progress":
			d.other(&r.Progress, r.Progress == nil)
		case "waits":
			r.Waits = d.text()
		case "finish":
			d.failed = d.failed || r.Finish != nil // a second one would be merged into the first
			r.Finish = new(engine.Finish)
			d.finish(r.Finish)
		default:
			d.failed = true
		}
	}
}

func (d *decoder) finish(f *engine.Finish) {
	for key := d.open(); key != ""; key = d.next() {
		switch key {
		case "status":
			var err error
			f.Status, err = engine.ParseStatus(d.text())
			d.failed = d.failed || err != nil
		case "exit_code":
			code := int(d.int())
			f.ExitCode = &code
		case "signal":
			f.Signal = d.text()
		case "error":
			f.Error = d.text()
		case "no_retry":
			f.NoRetry = d.bool()
		case "handed_back":
			f.HandedBack = d.bool()
		case "unfetched":
			f.Unfetched = d.bool()
		case "fetched_at":
			d.time(&f.FetchedAt)
		case "started_at":
			d.time(&f.StartedAt)
		case "finished_at":
			d.time(&f.FinishedAt)
		case "usage":
			d.failed = d.failed || f.Usage != nil
			f.Usage = new(engine.Usage)
			d.usage(f.Usage)
		case "output":
			d.failed = d.failed || f.Output != nil
			f.Output = new(engine.Output)
			d.output(f.Output)
		case "outputs":
			d.other(&f.Outputs, f.Outputs == nil)
		case "artifacts":
			d.other(&f.Artifacts, f.Artifacts == nil)
		default:
			d.failed = true
		}
	}
}

func (d *decoder) usage(u *engine.Usage) {
	for key := d.open(); key != ""; key = d.next() {
		switch key {
		case "cpu":
			u.CPU = time.Duration(d.int())
		case "max_rss":
			u.MaxRSS = d.int()
		default:
			d.failed = true
		}
	}
}

func (d *decoder) output(o *engine.Output) {
	for key := d.open(); key != ""; key = d.next() {
		switch key {
		case "size":
			o.Size = d.int()
		case "lines":
			o.Lines = d.int()
		case "tail":
			var err error
			text := d.text()
			o.Tail, err = base64.StdEncoding.DecodeString(text)
			d.failed = d.failed || err != nil
		case "chunks":
			o.Chunks = int(d.int())
		case "truncated":
			o.Truncated = d.int()
		case "lost":
			o.Lost = d.int()
		default:
			d.failed = true
		}
	}
}

func decodeHolder(data []byte) (holder executor.LockHolder, err error) {
	err = json.Unmarshal(data, &holder) // read only when somebody finds a lock held
	return holder, err
}

// known gives one of the values that are known, which do not keep the message in memory.
func known[S ~string](text string, values []S) S {
	for _, value := range values {
		if string(value) == text {
			return value
		}
	}
	return S(text)
}

// readAttempt reads the attempt of a task, which is all that a copy in the way is asked.
func readAttempt(data []byte) (int, error) {
	var task struct {
		Attempt int `json:"attempt"`
	}
	if err := json.Unmarshal(data, &task); err != nil {
		return 0, fmt.Errorf("read task: %w", err)
	}
	return task.Attempt, nil
}
