package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// LastGood stands for the id of the latest run of the same job before the other one that succeeded.
const LastGood = "last-good"

// RunDiff is the difference of two runs. A is the one to compare with, B the one in question.
type RunDiff struct {
	A, B   engine.Run
	Fields []FieldDiff // all that is compared, in a fixed order
	Output LineDiff
}

// FieldDiff is one thing that is compared, in words. Differs may be true of two values that are hidden.
type FieldDiff struct {
	Name    string
	A, B    string
	Differs bool
}

// CompareRuns compares two runs and the latest output of each. exact compares numbers in the output, too; otherwise
// lines that differ in nothing else count as alike.
func (s *Service) CompareRuns(ctx context.Context, namespace, a, b string, exact bool) (RunDiff, error) {
	if a == LastGood && b == LastGood {
		return RunDiff{}, field("run_missing", "query.b", "name at least one run: %s is the last good run before the other one", LastGood)
	}
	var diff RunDiff
	var err error
	for _, side := range []struct {
		id    string
		run   *engine.Run
		other string
	}{{a, &diff.A, b}, {b, &diff.B, a}} {
		if *side.run, err = s.namedRun(ctx, namespace, side.id, side.other); err != nil {
			return RunDiff{}, err
		}
	}
	var definitions [2]spec.Job
	for i, run := range []*engine.Run{&diff.A, &diff.B} {
		definition, _, err := s.DefinitionOf(ctx, run)
		if err != nil {
			return RunDiff{}, err
		}
		definitions[i] = definition.Spec
	}
	diff.Fields = compareFields(&diff.A, &diff.B, &definitions[0], &definitions[1])
	diff.Output, err = s.compareOutputs(ctx, &diff.A, &diff.B, exact)
	return diff, err
}

func (s *Service) namedRun(ctx context.Context, namespace, id, other string) (engine.Run, error) {
	if id != LastGood {
		return s.Run(ctx, namespace, id)
	}
	of, err := s.Run(ctx, namespace, other)
	if err != nil {
		return engine.Run{}, err
	}
	good, found, err := s.LastGoodRun(ctx, &of)
	if err == nil && !found {
		err = &Error{Kind: KindNotFound, Code: "no_good_run", Detail: fmt.Sprintf("no run of %s before %s has succeeded, as far back as was looked: compare it with another run", of.Job, of.ID)}
	}
	return good, err
}

// fieldDiffs collects what is compared.
type fieldDiffs []FieldDiff

func (f *fieldDiffs) add(name, a, b string) {
	if a != "" || b != "" {
		*f = append(*f, FieldDiff{Name: name, A: a, B: b, Differs: a != b})
	}
}

func compareFields(a, b *engine.Run, definitionA, definitionB *spec.Job) []FieldDiff {
	var f fieldDiffs
	f.add("job", a.Job, b.Job)
	f.add("status", a.Status.String(), b.Status.String())
	f.add("exit", exitOf(a), exitOf(b))
	f.add("reason", a.Reason, b.Reason)
	f.add("took", tookOf(a), tookOf(b))
	f.add("start lag", lagOf(a), lagOf(b))
	f.add("attempts", number(a.Attempt), number(b.Attempt))
	f.add("trigger", askedBy(a), askedBy(b))
	f.add("slot", instant(a.Slot), instant(b.Slot))
	f.add("started", instant(a.StartedAt), instant(b.StartedAt))
	f.add("binary", a.Binary, b.Binary)
	f.add("version", number(a.Version), number(b.Version))
	f.add("digest", a.Digest, b.Digest)
	f.add("generation", number(int(a.Generation)), number(int(b.Generation)))
	f.add("args", words(definitionA.Args), words(definitionB.Args))
	for _, name := range keysOfBoth(definitionA.Env, definitionB.Env) {
		f.addVariable("env "+name, name, definitionA.Env, definitionB.Env)
	}
	for _, name := range keysOfBoth(definitionA.Secrets, definitionB.Secrets) {
		f.add("secret "+name, definitionA.Secrets[name], definitionB.Secrets[name])
	}
	for _, name := range keysOfBoth(a.Args, b.Args) {
		f.addVariable("argument "+name, name, a.Args, b.Args)
	}
	f.add("payload", payloadOf(a, definitionA), payloadOf(b, definitionB))
	f.add("tier", string(a.Tier), string(b.Tier))
	f.add("runs on", spec.RunsOnText(a.RunsOn), spec.RunsOnText(b.RunsOn))
	f.add("class", string(a.Class), string(b.Class))
	restA, restB := restOf(definitionA), restOf(definitionB)
	for _, name := range keysOfBoth(restA, restB) {
		f.add(name, restA[name], restB[name])
	}
	lastA, lastB := lastAttempt(a), lastAttempt(b)
	f.add("executor", lastA.Executor, lastB.Executor)
	f.add("cpu", cpuOf(&lastA), cpuOf(&lastB))
	f.add("memory", memoryOf(&lastA), memoryOf(&lastB))
	f.add("output", sizeOf(&lastA), sizeOf(&lastB))
	return f
}

// addVariable compares an environment variable, without showing what looks secret.
func (f *fieldDiffs) addVariable(field, name string, a, b map[string]string) {
	diff := FieldDiff{Name: field, A: a[name], B: b[name]}
	_, inA := a[name]
	_, inB := b[name]
	diff.Differs = diff.A != diff.B || inA != inB
	if LooksSecret(name, diff.A) || LooksSecret(name, diff.B) {
		hidden := [2]string{"hidden", "hidden"}
		if diff.Differs {
			hidden[1] = "hidden, another value"
		}
		for i, is := range []bool{inA, inB} {
			if !is {
				hidden[i] = ""
			}
		}
		diff.A, diff.B = hidden[0], hidden[1]
	}
	*f = append(*f, diff)
}

func keysOfBoth[V any](a, b map[string]V) []string {
	keys := slices.Collect(maps.Keys(a))
	return slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(keys, maps.Keys(b)))))
}

// restOf is what a definition says beside what is compared by name, key by key.
func restOf(definition *spec.Job) map[string]string {
	text, err := json.Marshal(definition)
	if err != nil {
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	rest := map[string]string{}
	for key, value := range all {
		switch key {
		case "kind", "name", "binary", "args", "env", "secrets", "payload", "tier", "class":
		default:
			rest[key] = strings.Trim(string(value), `"`)
		}
	}
	return rest
}

func payloadOf(run *engine.Run, definition *spec.Job) string {
	payload := run.Payload
	if len(payload) == 0 {
		payload = definition.Payload
	}
	var out bytes.Buffer
	if json.Compact(&out, payload) != nil {
		return string(payload)
	}
	return out.String()
}

func lastAttempt(run *engine.Run) engine.Attempt {
	if last := run.Current(); last != nil {
		return *last
	}
	return engine.Attempt{}
}

func exitOf(run *engine.Run) string {
	switch last := lastAttempt(run); {
	case last.Signal != "":
		return last.Signal
	case last.ExitCode != nil:
		return fmt.Sprint(*last.ExitCode)
	}
	return ""
}

func tookOf(run *engine.Run) string {
	if run.StartedAt.IsZero() || run.FinishedAt.IsZero() {
		return ""
	}
	return rounded(run.FinishedAt.Sub(run.StartedAt))
}

func lagOf(run *engine.Run) string {
	if run.Slot.IsZero() || run.StartedAt.IsZero() || run.Trigger != engine.TriggerSchedule {
		return ""
	}
	return rounded(run.StartedAt.Sub(run.Slot))
}

// rounded leaves of a duration what is worth comparing.
func rounded(d time.Duration) string {
	switch {
	case d.Abs() < time.Second:
		return strconv.FormatFloat(float64(d.Round(100*time.Microsecond))/float64(time.Millisecond), 'f', -1, 64) + "ms"
	case d.Abs() < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func askedBy(run *engine.Run) string {
	if run.By == "" {
		return string(run.Trigger)
	}
	return string(run.Trigger) + ", " + run.By
}

func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// words returns arguments as one text in which the end of each is visible.
func words(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'") {
			quoted[i] = fmt.Sprintf("%q", arg)
		}
	}
	return strings.Join(quoted, " ")
}

func cpuOf(a *engine.Attempt) string {
	if a.Usage == nil {
		return ""
	}
	return rounded(a.Usage.CPU)
}

func memoryOf(a *engine.Attempt) string {
	if a.Usage == nil {
		return ""
	}
	return bytesInWords(a.Usage.MaxRSS)
}

func sizeOf(a *engine.Attempt) string {
	if a.Output == nil {
		return ""
	}
	return fmt.Sprintf("%s, %d %s", bytesInWords(a.Output.Size), a.Output.Lines, cmp.Or(map[int64]string{1: "line"}[a.Output.Lines], "lines"))
}

func bytesInWords(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < 4 {
		size, unit = size/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGTP"[unit])
}
