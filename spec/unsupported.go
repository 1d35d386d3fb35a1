package spec

import "cmp"

// optionUnsupported marks a field that definitions of earlier versions have and that does nothing. It is kept so that
// they stay readable and run on; nobody may ask for it any more, and neither the schema nor a list of keys has it.
const optionUnsupported = "unsupported"

// noDelivery is why most of alerts is refused.
const noDelivery = "does nothing in this version, which delivers no alerts: "

// unsupportedReasons say, by the path of a field, why it is refused and what to do; those of DAGs begin with "DAG:.".
var unsupportedReasons = map[string]string{
	"alerts.duration":   noDelivery + "remove it; alerts.lag is supported, and says after what delay a run counts as late",
	"alerts.silent_for": noDelivery + "remove it",
	"alerts.to":         noDelivery + "remove it",
	"alerts.on":         noDelivery + "remove it; alerts.lag is supported, and says after what delay a run counts as late",
	"DAG:.alerts":       noDelivery + "remove it",
}

// What a definition may ask for in vain, because of what it says elsewhere.
const (
	oneAttempt = "does nothing with one attempt: set retry.max_attempts to 2 or more, or remove it"
	noTries    = "does nothing, because every task has one attempt: set retry.max_attempts to 2 or more, or remove it"
	noCatchUp  = "does nothing with catch_up.policy none, which runs no missed slot: choose last or all, or remove it"
)

// Unsupported returns what the job asks for and this version does not do, and what it asks for in vain. [Decode] refuses
// it. It is not part of [Job.Validate], because a job that is stored already stays as it is and runs. A default may be
// written out.
func (j *Job) Unsupported() Problems {
	var problems Problems
	if j.Retry.MaxAttempts <= DefaultMaxAttempts {
		problems = unusedRetry(problems, "retry", &j.Retry, oneAttempt)
	}
	problems = unusedWindow(problems, j.CatchUp)
	if j.Alerts == nil {
		return problems
	}
	if j.Alerts.Duration != 0 {
		problems = append(problems, problemAt("alerts.duration", unsupportedReasons["alerts.duration"]))
	}
	if len(j.Alerts.On) > 0 {
		problems = append(problems, problemAt("alerts.on", unsupportedReasons["alerts.on"]))
	}
	if j.Alerts.SilentFor != 0 {
		problems = append(problems, problemAt("alerts.silent_for", unsupportedReasons["alerts.silent_for"]))
	}
	if len(j.Alerts.To) > 0 {
		problems = append(problems, problemAt("alerts.to", unsupportedReasons["alerts.to"]))
	}
	return problems
}

// Unsupported is [Job.Unsupported] for a DAG.
func (d *DAG) Unsupported() Problems {
	var problems Problems
	if d.Alerts != nil {
		problems = append(problems, problemAt("alerts", unsupportedReasons["DAG:.alerts"]))
	}
	problems = unusedWindow(problems, d.CatchUp)
	retried := false
	for i := range d.Tasks {
		task := &d.Tasks[i]
		if cmp.Or(task.Retry.MaxAttempts, d.Defaults.Retry.MaxAttempts) > DefaultMaxAttempts {
			retried = true
			continue
		}
		problems = unusedRetry(problems, join(join("tasks", task.Name), "retry"), &task.Retry, oneAttempt)
	}
	if !retried {
		problems = unusedRetry(problems, "defaults.retry", &d.Defaults.Retry, noTries)
	}
	return problems
}

// unusedRetry adds what a retry of one attempt says about further ones.
func unusedRetry(problems Problems, path string, retry *Retry, reason string) Problems {
	if retry.Delay != 0 && retry.Delay != DefaultRetryDelay {
		problems = append(problems, problemAt(path+".delay", reason))
	}
	if retry.MaxDelay != 0 && retry.MaxDelay != maxDelayFor(retry.Delay) {
		problems = append(problems, problemAt(path+".max_delay", reason))
	}
	if len(retry.On) > 0 {
		problems = append(problems, problemAt(path+".on", reason))
	}
	if len(retry.NotOn) > 0 {
		problems = append(problems, problemAt(path+".not_on", reason))
	}
	return problems
}

// unusedWindow adds the window of a policy that picks nothing.
func unusedWindow(problems Problems, catchUp CatchUp) Problems {
	if catchUp.Policy == CatchUpNone && catchUp.Window != 0 && catchUp.Window != DefaultCatchUpWindow {
		problems = append(problems, problemAt("catch_up.window", noCatchUp))
	}
	return problems
}
