package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of a definition. They are far above use, and keep one document from
// costing the machine that stores and runs it.
const (
	// MaxPayload is the largest payload, in bytes of compact JSON.
	MaxPayload = 1 << 20
	// MaxArgument is the longest argument or environment value, in bytes; Linux
	// refuses to start a program with a longer one.
	MaxArgument = 128<<10 - 1
	// MaxSecrets is how many secrets a job or task may be given. They travel in one message.
	MaxSecrets = 20

	maxDescription  = 4096
	maxArguments    = 1000
	maxEnvironment  = 1000
	maxLabels       = 64
	maxLabelKey     = 63
	maxLabelValue   = 255
	maxExpressions  = 32
	maxExclusions   = 256
	maxAttempts     = 100
	maxOpenFiles    = 1 << 20
	minOpenFiles    = 16
	maxCPU          = 1024
	minCPU          = 0.01
	minDelay        = Duration(time.Millisecond)
	maxDuration     = Duration(10 * 365 * 24 * time.Hour)
	maxGrace        = Duration(time.Hour)
	minMemory       = Mebibyte
	minOutput       = Kibibyte
	maxSize         = 1024 * Tebibyte
	environmentKey  = `^[A-Za-z_][A-Za-z0-9_]*$`
	reservedPrefix  = "TIDEWHEEL_"
	traceVariable   = "TRACEPARENT"
	labelKeyPattern = `^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`
)

var (
	environmentKeySyntax = regexp.MustCompile(environmentKey)
	labelKeySyntax       = regexp.MustCompile(labelKeyPattern)
)

// Validate returns every fault of the job, each with its Path, or nil. A field
// at its zero value counts as not given, so it may be called before or after
// [Job.ApplyDefaults]. Whether binaries and secrets exist is not its subject.
func (j *Job) Validate() Problems {
	v := &validator{}
	if j.Kind != KindJob {
		v.add("kind", "must be %s, not %s", KindJob, quote(j.Kind))
	}
	v.identity(KindJob, j.Name, j.Description)
	v.binary(j)
	v.command(j)
	v.payload(j)
	v.schedule(j)
	v.policies(j)
	v.limits(j)
	v.triggers(j.Name, j.Triggers)
	v.alerts(j.Alerts)
	v.retention("retention", j.Retention)
	v.runsOn(j)
	v.labels(j)
	return v.problems
}

type validator struct{ problems Problems }

// add takes a predicate; the path is its subject.
func (v *validator) add(path, format string, arguments ...any) {
	v.problems = append(v.problems, problemAt(path, fmt.Sprintf(format, arguments...)))
}

func problemAt(path, predicate string) Problem {
	return Problem{Path: path, Message: path + " " + predicate}
}

func (v *validator) identity(kind, name, description string) {
	if name == "" {
		noun := "job"
		if kind == KindDAG {
			noun = KindDAG
		}
		v.add("name", "is missing: every %s needs one", noun)
	} else if fault := nameFault(name); fault != "" {
		v.add("name", "%s", fault)
	} else if fault := reservedFault(kind, name); fault != "" {
		v.add("name", "%s", fault)
	}
	v.description(description)
}

func (v *validator) description(text string) {
	if length := utf8.RuneCountInString(text); length > maxDescription {
		v.add("description", "is %d characters long: use at most %d", length, maxDescription)
	}
	v.plainText("description", text, "\n\t")
}

func (v *validator) binary(j *Job) {
	if j.Binary == "" {
		v.add("binary", "is missing: name an uploaded program, such as report or report@stable")
	} else if _, err := ParseBinary(j.Binary); err != nil {
		v.add("binary", "%s", err)
	}
}

// command judges what the program is given.
func (v *validator) command(j *Job) {
	if strings.ContainsFunc(j.Interpreter, unicode.IsSpace) {
		v.add("interpreter", "must be one command without arguments, such as python3, not %s", quote(j.Interpreter))
	} else {
		v.plainText("interpreter", j.Interpreter, "")
		v.argument("interpreter", j.Interpreter)
	}
	v.atMost("args", len(j.Args), maxArguments, "arguments")
	for i, argument := range j.Args {
		path := fmt.Sprintf("args[%d]", i)
		v.argument(path, argument)
		for key := range j.Secrets {
			if strings.Contains(argument, "${"+key+"}") {
				v.add(path, "holds the secret ${%s}, and other users of the machine can read arguments: let the program read the variable", key)
			}
		}
	}
	v.atMost("env", len(j.Env), maxEnvironment, "variables")
	for _, key := range sortedKeys(j.Env) {
		path := join("env", key)
		v.environmentKey(path, key)
		v.argument(path, j.Env[key])
	}
	v.atMost("secrets", len(j.Secrets), MaxSecrets, "variables")
	for _, key := range sortedKeys(j.Secrets) {
		path := join("secrets", key)
		v.environmentKey(path, key)
		if fault := nameFault(j.Secrets[key]); fault != "" {
			v.add(path, "must be the name of a secret; it %s", fault)
		}
		if _, both := j.Env[key]; both {
			v.add(path, "is also set in env: keep one of them")
		}
	}
}

func (v *validator) environmentKey(path, key string) {
	switch {
	case len(key) > maxLabelValue:
		v.add(path, "has a name of %d bytes: use at most %d", len(key), maxLabelValue)
	case !environmentKeySyntax.MatchString(key):
		v.add(path, "is not a name for an environment variable: use letters, digits and '_', and no digit first")
	case strings.HasPrefix(key, reservedPrefix):
		v.add(path, "is reserved: names that start with %s are set by Tidewheel", reservedPrefix)
	case key == traceVariable:
		v.add(path, "is reserved: it is set by Tidewheel")
	}
}

func (v *validator) argument(path, value string) {
	switch {
	case len(value) > MaxArgument:
		v.add(path, "is %d bytes long: use at most %d, or the payload", len(value), MaxArgument)
	case strings.ContainsRune(value, 0):
		v.add(path, "has a NUL character, which no program can receive: remove it")
	case !utf8.ValidString(value):
		v.add(path, "is not UTF-8 text")
	}
}

func (v *validator) payload(j *Job) {
	if len(j.Payload) == 0 {
		return
	}
	if len(j.Payload) > MaxPayload {
		v.add("payload", "is %d bytes of JSON: use at most %d, and pass larger data by reference", len(j.Payload), MaxPayload)
		return
	}
	if _, err := sortedJSON(j.Payload); err != nil {
		v.add("payload", "is not JSON: %s", err)
	}
}

func (v *validator) policies(j *Job) {
	v.oneOf("tier", j.Tier, string(j.Tier))
	v.oneOf("class", j.Class, string(j.Class))
	v.oneOf("overlap", j.Overlap, string(j.Overlap))
	v.oneOf("delivery", j.Delivery, string(j.Delivery))
	v.oneOf("stderr", j.Stderr, string(j.Stderr))
	v.oneOf("catch_up.policy", j.CatchUp.Policy, string(j.CatchUp.Policy))

	v.duration("timeout", j.Timeout, minDelay, maxDuration)
	v.duration("grace", j.Grace, minDelay, maxGrace)
	v.duration("retry.delay", j.Retry.Delay, minDelay, maxDuration)
	v.duration("retry.max_delay", j.Retry.MaxDelay, minDelay, maxDuration)
	v.duration("catch_up.window", j.CatchUp.Window, minDelay, maxDuration)
	if j.Retry.MaxDelay > 0 && j.Retry.MaxDelay < j.Retry.Delay {
		v.add("retry.max_delay", "must not be less than retry.delay (%s)", j.Retry.Delay)
	}
	if n := j.Retry.MaxAttempts; n != 0 && (n < 1 || n > maxAttempts) {
		v.add("retry.max_attempts", "must be from 1 to %d, not %d", maxAttempts, n)
	}
	v.exitCodes("retry.on", j.Retry.On)
	v.exitCodes("retry.not_on", j.Retry.NotOn)
	for i, code := range j.Retry.NotOn {
		if slices.Contains(j.Retry.On, code) {
			v.add(fmt.Sprintf("retry.not_on[%d]", i), "is %d, which is in retry.on too: keep it in one of them", code)
		}
	}
}

func (v *validator) exitCodes(path string, codes []int) {
	for i, code := range codes {
		element := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case code == 0:
			v.add(element, "is 0, which is success: list exit codes from 1 to 255")
		case code < 1 || code > 255:
			v.add(element, "must be an exit code from 1 to 255, not %d", code)
		case slices.Contains(codes[:i], code):
			v.add(element, "repeats %d: list each exit code once", code)
		}
	}
}

func (v *validator) limits(j *Job) {
	v.size("limits.memory", j.Limits.Memory, minMemory)
	v.size("limits.output", j.Limits.Output, minOutput)
	// Written so that NaN fails too.
	if cpu := j.Limits.CPU; cpu != 0 && !(cpu >= minCPU && cpu <= maxCPU) {
		v.add("limits.cpu", "must be from %v to %v cores, not %v", minCPU, maxCPU, cpu)
	}
	if n := j.Limits.OpenFiles; n != 0 && (n < minOpenFiles || n > maxOpenFiles) {
		v.add("limits.open_files", "must be from %d to %d, not %d", minOpenFiles, maxOpenFiles, n)
	}
}

// IsLabelKey reports whether a label can have this name.
func IsLabelKey(key string) bool { return labelKeySyntax.MatchString(key) }

func (v *validator) labels(j *Job) {
	v.atMost("labels", len(j.Labels), maxLabels, "labels")
	for _, key := range sortedKeys(j.Labels) {
		path, value := join("labels", key), j.Labels[key]
		if !IsLabelKey(key) {
			v.add(path, "is not a name for a label: use at most %d letters, digits, '.', '_', '/' and '-', a letter or digit first", maxLabelKey)
		}
		if length := utf8.RuneCountInString(value); length > maxLabelValue {
			v.add(path, "is %d characters long: use at most %d", length, maxLabelValue)
		}
		v.plainText(path, value, "")
	}
}

func (v *validator) oneOf(path string, kind enumeration, value string) {
	if value == "" {
		return
	}
	if fault := choiceFault(value, kind.values()); fault != "" {
		v.add(path, "%s", fault)
	}
}

func choiceFault(value string, choices []string) string {
	if slices.Contains(choices, value) {
		return ""
	}
	fault := fmt.Sprintf("must be %s, not %s", orList(choices), quote(value))
	if near := nearest(value, choices); near != "" {
		fault += ": did you mean " + near + "?"
	}
	return fault
}

func (v *validator) duration(path string, value, least, most Duration) {
	switch {
	case value == 0:
	case value < 0:
		v.add(path, "must not be negative")
	case value < least:
		v.add(path, "must be at least %s, not %s", least, value)
	case value > most:
		v.add(path, "must be at most %s, not %s", most, value)
	}
}

func (v *validator) size(path string, value, least Size) {
	switch {
	case value == 0:
	case value < least:
		v.add(path, "must be at least %s, not %s", least, value)
	case value > maxSize:
		v.add(path, "must be at most %s, not %s", maxSize, value)
	}
}

func (v *validator) atMost(path string, count, most int, what string) {
	if count > most {
		v.add(path, "has %d %s: use at most %d", count, what, most)
	}
}

// plainText refuses what would upset a terminal or a page.
func (v *validator) plainText(path, text, allowed string) {
	if !utf8.ValidString(text) {
		v.add(path, "is not UTF-8 text")
		return
	}
	for _, character := range text {
		if unicode.IsControl(character) && !strings.ContainsRune(allowed, character) {
			v.add(path, "has a control character (%s): remove it", characterName(character))
			return
		}
	}
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func sortedKeys(values map[string]string) []string {
	return slices.Sorted(maps.Keys(values))
}
