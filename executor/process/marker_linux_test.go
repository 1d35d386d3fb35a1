package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A process that becomes another program shows no environment for a moment. One that does so all the time must be found
// none the less.
func TestMarkIsFoundWhileAProcessBecomesAnother(t *testing.T) {
	dir := t.TempDir()
	again := filepath.Join(dir, "again")
	if err := os.WriteFile(again, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		one := exec.Command(again)
		one.Env = []string{Marker + "=" + dir}
		if err := one.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- one.Wait() }()
		if killMarked(dir, settleTimeout) == 0 {
			t.Errorf("round %d: it was not found", i)
			_ = one.Process.Kill()
		}
		select {
		case <-ended:
		case <-time.After(settleTimeout):
			t.Errorf("round %d: it lives on", i)
			_ = one.Process.Kill()
			<-ended
		}
	}
}

func TestBareProcessesAreKnown(t *testing.T) {
	empty := exec.Command("/bin/cat")
	empty.Env = []string{}
	in, err := empty.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := empty.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = empty.Wait() }()
	var echo [1]byte
	if _, err := in.Write(echo[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(echo[:]); err != nil { // it has become cat
		t.Fatal(err)
	}
	for pid, want := range map[int]bool{empty.Process.Pid: true, os.Getpid(): false} {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if got := bare(stat); got != want {
			t.Errorf("of %s, bare is %t", stat, got)
		}
	}
}
