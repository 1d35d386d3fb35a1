package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot keep jobs apart, or would let them run as root unasked, is refused with what to do.
func TestSandboxSettingsThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // of the error; "": none
		root bool   // it is so where the server is root
	}{
		{[]string{"--sandbox", "tight"}, "use strict, standard or off", false},
		{[]string{"--sandbox", "strict", "--allow-root"}, "root leaves every sandbox", false},
		{[]string{"--sandbox", "off"}, "say --run-as USER, or --allow-root", true},
		{[]string{"--sandbox", "off", "--roles", "engine,web"}, "", false},
		{[]string{"--sandbox", "off", "--allow-root"}, "", false},
		{[]string{"--sandbox", "strict"}, "", false},
	} {
		if c.root && os.Geteuid() != 0 {
			continue
		}
		command := (&cli{getenv: os.Getenv}).serverCommand()
		if err := command.ParseFlags(append(c.args, "--data", t.TempDir())); err != nil {
			t.Fatal(err)
		}
		config, err := (&cli{getenv: os.Getenv}).serverConfig(command)
		if err == nil {
			err = config.validate()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

// YAML reads off as false.
func TestSandboxIsTurnedOffByAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(path, []byte("sandbox: off\nallow-root: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := (&cli{getenv: os.Getenv}).serverCommand()
	if err := command.ParseFlags([]string{"--config", path}); err != nil {
		t.Fatal(err)
	}
	config, err := (&cli{getenv: os.Getenv}).serverConfig(command)
	if err != nil {
		t.Fatal(err)
	}
	if err := config.validate(); err != nil || config.Sandbox != sandboxOff || ownUsers(&config) || ownDomains(&config) {
		t.Errorf("the sandbox is %q (%v)", config.Sandbox, err)
	}
}
