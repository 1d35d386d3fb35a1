package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A program finds the API and opens and closes an effect there, and the command line shows it.
func TestProgramReachesTheLedger(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" { // where .ci/run has installed it
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := startServer(t, serverConfigFor(t))
	s.push("charge", `
set -e
ask() { curl -sS -o answer -w '%{http_code} ' -X "$1" --data "$2" -H "Authorization: Bearer $TIDEWHEEL_RUN_TOKEN" "$TIDEWHEEL_API/$3"; }
ask POST '' effects/charge-1
ask POST '' effects/charge-1
ask PUT '{"id": "ch_1"}' effects/charge-1
ask POST '' effects/charge-1
ask POST '' effects/charge-2
ask GET '' runs
echo; cat answer`)
	s.apply("kind: Job\nname: charge\nbinary: charge\n")
	if out := s.must("run", "charge", "--wait"); !strings.Contains(out, "201 200 200 409 201 401 \n") || !strings.Contains(out, "effects of its run and nothing else") {
		t.Errorf("the program was answered %s", out)
	}
	id := strings.Fields(s.must("get", "runs"))[8]
	if out := s.must("describe", "run", id); !strings.Contains(out, "Effects") || !strings.Contains(out, `{"id":"ch_1"}`) || !strings.Contains(out, "charge-2   open") {
		t.Errorf("it is described as\n%s", out)
	}
	if out := s.must("describe", "run", id, "-o", "json"); !strings.Contains(out, `"effects": [`) || !strings.Contains(out, `"key": "charge-1"`) {
		t.Errorf("in JSON it is described as\n%s", out)
	}
}

func TestAddressOfTheAPI(t *testing.T) {
	for given, want := range map[string]string{
		"http://tide.example:8080": "http://tide.example:8080/api/v1", "https://tide.example/": "https://tide.example/api/v1",
		"https://tide.example/below/api/v1/": "https://tide.example/below/api/v1", "": "",
	} {
		s := &Server{config: ServerConfig{APIURL: given}}
		if err := s.config.validateAPIURL(); err != nil || s.programAPI() != want {
			t.Errorf("%q becomes %q, %v; want %q", given, s.programAPI(), err, want)
		}
	}
	for _, given := range []string{"tide.example:8080", "ftp://tide.example", "http://", "http://user:pw@tide.example", "http://tide.example?x=1", "::"} {
		config := ServerConfig{APIURL: given}
		if err := config.validateAPIURL(); err == nil || !strings.Contains(err.Error(), "--api-url") {
			t.Errorf("%q: %v", given, err)
		}
	}
}
