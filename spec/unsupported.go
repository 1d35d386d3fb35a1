package spec

import "cmp"

// What a definition may ask for in vain, because of what it says elsewhere.
const (
	oneAttempt = "does nothing with one attempt: set retry.max_attempts to 2 or more, or remove it"
	noTries    = "does nothing, because every task has one attempt: set retry.max_attempts to 2 or more, or remove it"
	noCatchUp  = "does nothing with catch_up.policy none, which runs no missed slot: choose last or all, or remove it"
)

// Unsupported returns what the job asks for in vain. [Decode] refuses it. It is not part of [Job.Validate], because a job
// that is stored already stays as it is and runs. A default may be written out.
func (j *Job) Unsupported() Problems {
	var problems Problems
	if j.Retry.MaxAttempts <= DefaultMaxAttempts {
		problems = unusedRetry(problems, "retry", &j.Retry, oneAttempt)
	}
	problems = unusedWindow(problems, j.CatchUp)
	return problems
}

// Unsupported is [Job.Unsupported] for a DAG.
func (d *DAG) Unsupported() Problems {
	var problems Problems
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
