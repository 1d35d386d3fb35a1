package deploytest

import (
	"bufio"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// directives are those of systemd that ours use: a wrong one would be ignored by systemd with a line in its log.
var directives = map[string]string{
	"Unit": "Description Documentation Wants After",
	"Service": `Type ExecStart EnvironmentFile LoadCredential Environment Restart RestartSec KillMode TimeoutStopSec LimitNOFILE TasksMax
		Delegate User Group StateDirectory StateDirectoryMode UMask NoNewPrivileges CapabilityBoundingSet AmbientCapabilities ProtectSystem
		ProtectHome PrivateTmp PrivateDevices ProtectClock ProtectHostname ProtectKernelLogs ProtectKernelModules ProtectKernelTunables
		ProtectProc RemoveIPC RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID LockPersonality
		SystemCallArchitectures SystemCallFilter SystemCallErrorNumber`,
	"Install": "WantedBy",
}

func readUnit(t *testing.T, path string) map[string][]string {
	t.Helper()
	unit := make(map[string][]string)
	section := ""
	for lines := bufio.NewScanner(strings.NewReader(read(t, path))); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			if directives[section] == "" {
				t.Errorf("%s: there is no section %s", path, section)
			}
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found || !slices.Contains(strings.Fields(directives[section]), name) {
			t.Errorf("%s: [%s] %s is unknown", path, section, line)
		}
		unit[name] = append(unit[name], value)
	}
	return unit
}

func TestUnitsAreTaken(t *testing.T) {
	for _, c := range []struct {
		file string
		env  map[string]string // of the EnvironmentFile, as its comment says
	}{
		{"tidewheel.service", nil},
		{"tidewheel-executor.service", map[string]string{
			"TIDEWHEEL_NATS_URL": "nats://main:4222", "TIDEWHEEL_S3_ENDPOINT": "http://main:9000",
		}},
	} {
		path := "deploy/systemd/" + c.file
		unit := readUnit(t, path)
		command := strings.Fields(strings.Join(unit["ExecStart"], ""))
		if command[0] != "/usr/local/bin/tidewheel" {
			t.Errorf("%s starts %s", path, command[0])
		}
		stop, err := time.ParseDuration(strings.Join(unit["TimeoutStopSec"], ""))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		n := node{name: path, args: command[1:], env: c.env, stop: stop, files: make(map[string]string)}
		if n.env == nil {
			n.env = make(map[string]string)
		}
		for name, value := range c.env {
			if text := read(t, path); !strings.Contains(text, "#   "+name+"="+value+"\n") {
				t.Errorf("%s does not tell of %s", path, name)
			}
		}
		dir := secrets(t)
		for _, credential := range unit["LoadCredential"] {
			name, source, _ := strings.Cut(credential, ":")
			if !strings.HasPrefix(source, "/etc/tidewheel/") {
				t.Errorf("%s: %s", path, credential)
			}
			n.files["%d/"+name] = filepath.Join(dir, name)
		}
		for _, variable := range unit["Environment"] {
			name, value, _ := strings.Cut(variable, "=")
			n.env[name] = value
		}
		values := n.settings(t)
		for name, want := range map[string]string{"NoNewPrivileges": "yes", "ProtectSystem": "strict", "KillMode": "mixed", "CapabilityBoundingSet": "", "User": "tidewheel"} {
			if got, set := unit[name]; !set || strings.Join(got, " ") != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if values["data"] != "/var/lib/"+strings.Join(unit["StateDirectory"], "") {
			t.Errorf("%s: --data is %s, and StateDirectory %s", path, values["data"], unit["StateDirectory"])
		}
	}
}
