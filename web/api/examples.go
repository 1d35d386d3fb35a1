package api

import "encoding/json"

// exampleYAML is a file of definitions.
const exampleYAML = `kind: Job
name: nightly-report
description: Totals per shop
binary: report@stable
args: ["--day", "${TIDEWHEEL_SLOT}"]
schedule: "0 3 * * *"
timezone: Asia/Dhaka
retry: {max_attempts: 3, delay: 5s}
`

// exampleDefinition is the same as JSON.
func exampleDefinition() any {
	var value any
	_ = json.Unmarshal([]byte(`{
		"kind": "Job",
		"name": "nightly-report",
		"description": "Totals per shop",
		"binary": "report@stable",
		"args": ["--day", "${TIDEWHEEL_SLOT}"],
		"schedule": "0 3 * * *",
		"timezone": "Asia/Dhaka",
		"retry": {"max_attempts": 3, "delay": "5s"}
	}`), &value) // a constant, which a test reads
	return value
}

// exampleDAG is a definition of a DAG as JSON.
func exampleDAG() any {
	var value any
	_ = json.Unmarshal([]byte(`{
		"kind": "DAG",
		"name": "etl",
		"timezone": "Asia/Dhaka",
		"defaults": {"retry": {"max_attempts": 2}},
		"tasks": {
			"orders": {"binary": "fetch", "args": ["orders"], "schedule": "0 * * * *"},
			"rates": {"binary": "fetch", "args": ["rates"], "schedule": "*/30 * * * *"},
			"join": {"binary": "join", "needs": ["orders", "rates"]},
			"shops": {"binary": "shop-total", "needs": ["join"], "for_each": "outputs.join.shops", "max_parallel": 8},
			"report": {"binary": "report", "needs": ["shops"], "trigger": "none_failed", "when": "outputs.join.rows > 0"}
		}
	}`), &value) // a constant, which a test reads
	return value
}
