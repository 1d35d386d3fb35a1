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
