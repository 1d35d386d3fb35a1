package importer

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/tidewheel/tidewheel/spec"
)

var (
	cronSetting = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)
	cronRandom  = regexp.MustCompile(`(\d*)~(\d*)`)
)

// crontab is what the lines so far have set.
type crontab struct {
	*builder
	system  bool
	env     map[string]string
	zone    string
	mail    []string // names of targets
	comment []string // right above the line
}

// Crontab reads a crontab: that of a user, or with system the form of /etc/crontab and /etc/cron.d, whose sixth field is the user.
func Crontab(text string, system bool) Result {
	c := &crontab{builder: newBuilder(), system: system, env: map[string]string{}}
	for number, line := range strings.Split(text, "\n") {
		c.line(number+1, strings.TrimSpace(line))
	}
	if len(c.result.Documents) > 0 {
		c.note(0, "as in cron, runs of a job may overlap (overlap: allow) and what an outage took away is not made up for (catch_up: none); "+
			"the timeout is %s, where cron has none", spec.DefaultTimeout)
		if c.zone == "" {
			c.note(0, "without CRON_TZ the schedules are in UTC, where cron has the zone of its machine: set timezone")
		}
	}
	return c.finish()
}

func (c *crontab) line(number int, line string) {
	if line == "" {
		c.comment = nil
		return
	}
	if text, ok := strings.CutPrefix(line, "#"); ok {
		c.comment = append(c.comment, strings.TrimSpace(text))
		return
	}
	comment := strings.TrimSpace(strings.Join(c.comment, "\n"))
	c.comment = nil
	if setting := cronSetting.FindStringSubmatch(line); setting != nil {
		c.set(number, setting[1], unquoteSetting(setting[2]))
		return
	}
	c.entry(number, strings.TrimPrefix(line, "-"), comment) // SUSE's mark for "do not log"
}

// unquoteSetting takes the quotes away that a value may stand in.
func unquoteSetting(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1]
	}
	return value
}

func (c *crontab) set(number int, name, value string) {
	switch name {
	case "CRON_TZ", "TZ":
		c.zone = value
		if name == "TZ" {
			c.env[name] = value
		}
	case "MAILTO":
		c.mailTo(number, value)
	case "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "RANDOM_DELAY", "START_HOURS_RANGE", "CRON_WITHIN":
		c.note(number, "%s has no counterpart", name)
	default:
		c.env[name] = value
	}
}

// mailTo makes notifications of what cron would send by mail.
func (c *crontab) mailTo(number int, value string) {
	c.mail = nil
	for _, address := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !strings.Contains(address, "@") {
			c.note(number, "MAILTO %s is a mailbox of the machine: name an address, and make a target of it by tidewheel notify target set", address)
			continue
		}
		target := cut("mail-"+validName(address), spec.MaxNameLength)
		c.mail = append(c.mail, target)
		c.note(number, "MAILTO: failures go to the target %s; make it by: tidewheel notify target set %s --email %s", target, target, quote(address))
	}
}

func (c *crontab) entry(number int, line, comment string) {
	schedule, rest := cronFields(line)
	if schedule == "@reboot" {
		c.note(number, "@reboot is not supported: a scheduler of many machines has no start of one; left out: %s", rest)
		return
	}
	user := ""
	if c.system {
		user, rest = cutField(rest)
	}
	if schedule == "" || rest == "" {
		c.note(number, "is neither a setting nor an entry, and is left out: %s", line)
		return
	}
	if user != "" {
		c.note(number, "runs as the user of the executor, not as %s: see --run-as", user)
	}
	if cronRandom.MatchString(schedule) {
		schedule = cronRandom.ReplaceAllStringFunc(schedule, func(part string) string {
			if part == "~" {
				return "H"
			}
			return "H(" + strings.Replace(part, "~", "-", 1) + ")"
		})
		c.note(number, "an instant chosen at random at each start became one that stays: %s", schedule)
	}
	command, input, hasInput := cronInput(rest)
	job := &spec.Job{
		Name: cronName(command), Description: comment, Binary: ShellName, Args: c.command(command),
		Schedule: spec.Strings{schedule}, Timezone: c.zone, Overlap: spec.OverlapAllow, CatchUp: spec.CatchUp{Policy: spec.CatchUpNone},
	}
	if len(c.env) > 0 {
		job.Env = maps.Clone(c.env)
	}
	if hasInput {
		job.Payload, _ = json.Marshal(input) // a string
		c.note(number, "what follows %% is the payload: the command reads it as a JSON string, in quotes")
	}
	if len(c.mail) > 0 {
		job.Alerts = &spec.Alerts{On: []spec.Alert{spec.AlertFailed}, To: c.mail}
	}
	c.job(number, job)
}

// cronFields splits a line into its schedule and the rest.
func cronFields(line string) (schedule, rest string) {
	first, rest := cutField(line)
	if strings.HasPrefix(first, "@") {
		return first, rest
	}
	fields := []string{first}
	for len(fields) < 5 {
		var field string
		if field, rest = cutField(rest); field == "" {
			return "", ""
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, " "), rest
}

func cutField(line string) (field, rest string) {
	line = strings.TrimLeft(line, " \t")
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimLeft(line[end:], " \t")
}

// cronInput splits a command at its first %, which begins its input; further ones are line ends, and \% is a %.
func cronInput(text string) (command, input string, hasInput bool) {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			part.WriteByte('%')
			i++
		case text[i] == '%':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	parts = append(parts, part.String())
	if len(parts) == 1 {
		return strings.TrimSpace(parts[0]), "", false
	}
	return strings.TrimSpace(parts[0]), strings.Join(parts[1:], "\n") + "\n", true
}

// cronName names a job after the program that a command starts with.
func cronName(command string) string {
	folder := false
	for word := range strings.FieldsSeq(command) {
		if folder {
			folder = false
			continue
		}
		folder = word == "cd"
		if strings.Contains(word, "=") || strings.ContainsAny(word, "[]{}()&|;<>!\"'$`") {
			continue
		}
		switch base := path.Base(word); base {
		case "cd", "test", "nice", "nohup", "sudo", "flock", "env", "exec", "sh", "bash", "-c", ".", "/", "if", "then", "-n", "-x", "command", "true":
		default:
			if !strings.HasPrefix(base, "-") {
				return strings.TrimSuffix(strings.TrimSuffix(base, path.Ext(base)), ".")
			}
		}
	}
	return "command"
}
