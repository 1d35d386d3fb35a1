package spec

import "strings"

// What other schedulers call the things that a job or a DAG has.
var foreignKeys = map[string]string{
	"cron": "schedule", "crontab": "schedule", "interval": "every", "run_at": "at", "schedule_time": "at",
	"command": "binary", "cmd": "binary", "image": "binary", "program": "binary", "job_type": "binary", "script": "binary",
	"arguments": "args", "environment": "env", "tz": "timezone", "time_zone": "timezone", "timeZone": "timezone",
	"retries": "retry", "concurrency": "overlap", "concurrencyPolicy": "overlap", "deadline": "timeout",
	"nodeSelector": "runs_on", "node_selector": "runs_on", "constraint": "runs_on", "constraints": "runs_on", "agents": "runs_on", "executor": "runs_on",
	"executors": "runs_on", "requires": "runs_on", "affinity": "runs_on",
	"tags": "labels", "annotations": "labels", "blackout": "exclude", "catchup": "catch_up", "input": "payload",
	"priority": "class", "queue": "tier", "resources": "limits", "mem": "memory", "attempts": "max_attempts",
	"backoff": "delay", "start": "from", "end": "until",
	"depends": "needs", "depends_on": "needs", "dependsOn": "needs", "dependencies": "needs", "upstream": "needs", "trigger_rule": "trigger",
	"if": "when", "condition": "when", "preconditions": "when", "steps": "tasks", "jobs": "tasks", "with_items": "for_each", "expand": "for_each",
	"successfulJobsHistoryLimit": "retention", "failedJobsHistoryLimit": "retention", "histRetentionDays": "retention", "hist_retention_days": "retention",
	"ttlSecondsAfterFinished": "retention", "ttl": "retention", "history": "retention", "keep": "retention", "max_age": "age", "days": "age", "count": "runs", "logs": "output", "artifacts": "output",
	"max_active_tasks": "max_parallel", "parallel": "max_parallel", "default_args": "defaults",
}

// nearest is the candidate that a mistyped word most likely meant, or "".
func nearest(word string, candidates []string) string {
	if len(word) > longKey {
		return ""
	}
	best, bestDistance := "", 3
	for _, candidate := range candidates {
		if fold(word) == fold(candidate) || foreignKeys[word] == candidate {
			return candidate
		}
		distance := editDistance(strings.ToLower(word), candidate)
		// A short word is near to everything: allow one edit in three characters.
		if distance < bestDistance && distance*3 <= len(candidate) {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// fold makes maxAttempts, max-attempts and MAX_ATTEMPTS one word.
func fold(word string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(word))
}

// editDistance is the number of characters to insert, delete, replace or swap
// with their neighbour (optimal string alignment). Words much longer than any
// key are not measured.
func editDistance(a, b string) int {
	const longest = 40
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var before, previous, current [longest + 1]int
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1) //nolint:gosec // j is at least 2
			}
		}
		before, previous = previous, current
	}
	return previous[len(b)]
}
