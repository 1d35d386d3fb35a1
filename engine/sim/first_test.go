package sim_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Seeds that were run before find nothing new: make sim draws its first one from the clock, and CI runs it.
func TestMakeSimBeginsWithAnotherSeedEachTime(t *testing.T) {
	command := func(variables ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "make", append([]string{"-n", "--no-print-directory", "-C", "../..", "sim"}, variables...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := command("SEEDS=12", "FIRST=345"); !strings.Contains(out, "-seeds=12 -first=345") {
		t.Errorf("what is asked for is not passed on: %s", out)
	}
	began := time.Now().Unix()
	drawn := regexp.MustCompile(`-first=(\d+)00000\s`).FindStringSubmatch(command())
	if drawn == nil {
		t.Fatal("make sim draws no first seed")
	}
	if at, err := strconv.ParseInt(drawn[1], 10, 64); err != nil || at < began || at > time.Now().Unix() {
		t.Errorf("the first seed is %s, not from the clock", drawn[0])
	}
	verify, err := os.ReadFile("../../.ci/verify")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^printf .*\bsim\b.*xargs`).Match(verify) || strings.Contains(string(verify), "FIRST=") {
		t.Error("make verify runs no seeds of its own")
	}
}
