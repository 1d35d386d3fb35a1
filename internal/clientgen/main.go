// Command clientgen writes the types and the methods of the client for Python, from the description of the API in
// clients/openapi.json. Of the same openapi-typescript makes the types for TypeScript.
//
// Run it at the root of the repository; make generate does.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Where the files are.
const (
	description   = "clients/openapi.json"
	pythonTypes   = "clients/python/tidewheel/types.py"
	pythonMethods = "clients/python/tidewheel/operations.py"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "clientgen:", err)
		os.Exit(1)
	}
}

func write() error {
	text, err := os.ReadFile(description)
	if err != nil {
		return err
	}
	var document openAPI
	if err := json.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	types, err := writeTypes(&document)
	if err != nil {
		return err
	}
	methods, err := writeMethods(&document)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path string
		text []byte
	}{{pythonTypes, types}, {pythonMethods, methods}} {
		if err := os.WriteFile(file.path, file.text, 0o644); err != nil { //nolint:gosec // source code is read by all
			return err
		}
	}
	return nil
}
