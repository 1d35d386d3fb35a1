package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the description that clients are made of anew; make generate does")

// What clients in other languages are made of is what the server says.
func TestClientsAreMadeOfTheDescription(t *testing.T) {
	const path = "../../clients/openapi.json"
	text := newSite(t).ask("GET", "/api/v1/openapi.json", "").is(http.StatusOK).body
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", " "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	if *update {
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, indented.Bytes()) {
		t.Error("clients/openapi.json is not what the server says: run make generate")
	}
}
