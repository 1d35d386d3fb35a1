package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestSecretsAreReadFromFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	uri := file("uri", "mongodb://tide:hush@db/tide\n")
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		want string // in the error; "": the URI of the file
	}{
		{"a flag", []string{"--mongodb-uri-file", uri}, nil, ""},
		{"the environment", nil, map[string]string{"TIDEWHEEL_MONGODB_URI_FILE": uri}, ""},
		{"both", []string{"--mongodb-uri-file", uri, "--mongodb-uri", "mongodb://db"}, nil, "--mongodb-uri and --mongodb-uri-file say the same thing"},
		{"no file", []string{"--mongodb-uri-file", filepath.Join(dir, "none")}, nil, "there is no file"},
		{"a folder", []string{"--mongodb-uri-file", dir}, nil, "--mongodb-uri-file"},
		{"an empty file", []string{"--mongodb-uri-file", file("empty", " \n")}, nil, "is empty"},
		{"two lines", []string{"--mongodb-uri-file", file("two", "a\nb\n")}, nil, "more than one line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			command := (&cli{getenv: os.Getenv}).serverCommand()
			if err := command.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			config, err := (&cli{getenv: os.Getenv}).serverConfig(command)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "" && config.MongoURI != "mongodb://tide:hush@db/tide":
				t.Errorf("the URI is %q", config.MongoURI)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// What is masked where settings are shown must be possible to keep in a file.
func TestEverySecretMayStandInAFile(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	serverFlags(flags)
	for _, name := range secretSettings {
		if flags.Lookup(name+secretFile) == nil {
			t.Errorf("--%s has no --%s%s", name, name, secretFile)
		}
	}
	dir := t.TempDir()
	args := []string{}
	for _, name := range inFiles {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("of:"+name), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--"+name+secretFile, path)
	}
	command := (&cli{getenv: os.Getenv}).serverCommand()
	if err := command.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	config, err := (&cli{getenv: os.Getenv}).serverConfig(command)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []struct{ name, value string }{
		{"mongodb-uri", config.MongoURI}, {"nats-credentials", config.NATSCredentials},
		{"s3-access-key", config.S3AccessKey}, {"s3-secret-key", config.S3SecretKey},
	} {
		if got.value != "of:"+got.name {
			t.Errorf("--%s is %q", got.name, got.value)
		}
	}
}

// Each file that a flag names, and each folder with secrets, is closed to jobs.
func TestFilesOfSecretsAreClosedToJobs(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials/tidewheel.service")
	settingsFile := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settingsFile, []byte("slots: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	serverFlags(flags)
	args := []string{"--config", settingsFile, "--nats-credentials", "/etc/nats.creds", "--data", "/srv/data"}
	want := []string{settingsFile, "/etc/nats.creds", "/srv/data", "/run/credentials/tidewheel.service", "/home/mira/.local/state/tidewheel"}
	flags.VisitAll(func(flag *pflag.Flag) {
		if !strings.HasSuffix(flag.Name, secretFile) || flag.Name == "nats-credentials"+secretFile || flag.Name == "s3-ca"+secretFile { // an authority is no secret
			return
		}
		path := filepath.Join(filepath.Dir(settingsFile), flag.Name)
		if err := os.WriteFile(path, []byte("a-secret-0123456789"), 0o600); err != nil {
			t.Fatal(err)
		}
		args, want = append(args, "--"+flag.Name, path), append(want, path)
	})
	c := &cli{getenv: func(name string) string { return map[string]string{"HOME": "/home/mira"}[name] }}
	command := c.serverCommand()
	if err := command.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	config, err := c.serverConfig(command)
	if err != nil {
		t.Fatal(err)
	}
	closed := config.closedToJobs()
	for _, path := range want {
		if !slices.Contains(closed, path) {
			t.Errorf("%s is not closed to jobs: %q", path, closed)
		}
	}
	if slices.Contains(closed, "") || slices.Contains(closed, "/") {
		t.Errorf("closed are %q", closed)
	}
}

func TestWebNodesShareATokenFile(t *testing.T) {
	config := serverConfigFor(t)
	config.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(config.TokenFile, []byte("a-token-of-ours-0123456789\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, config)
	if _, err := os.Stat(filepath.Join(config.Data, tokenFile)); !os.IsNotExist(err) {
		t.Errorf("a token was made in the data folder all the same: %v", err)
	}
	if !strings.Contains(s.greet.String(), config.TokenFile) {
		t.Errorf("the greeting does not name the file:\n%s", s.greet)
	}
	s.refused(exitRefused, "--token", "get", "jobs") // it was copied nowhere
	s.env["TIDEWHEEL_TOKEN"] = "a-token-of-ours-0123456789"
	s.must("get", "jobs")
	s.env["TIDEWHEEL_TOKEN"] = "another-token-0123456789"
	s.refused(exitRefused, "token", "get", "jobs")
}

func TestShortTokenIsRefused(t *testing.T) {
	config := serverConfigFor(t)
	config.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(config.TokenFile, []byte("short"), 0o400); err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(config, testLog(t), &safeBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "at least 16 characters") {
		t.Errorf("%v", err)
	}
}
