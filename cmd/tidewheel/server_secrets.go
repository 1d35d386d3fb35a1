package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// secretFile is the end of the name of a setting that names the file of another one.
const secretFile = "-file"

// credentialsSuffix ends the name of a file with credentials of NATS.
const credentialsSuffix = ".creds"

// inFiles are the settings that hold something secret. Each may stand in a file of its own, as container engines and
// systemd hand secrets over, rather than in an environment or a command line that others can read.
var inFiles = []string{"mongodb-uri", "nats-credentials", "s3-access-key", "s3-secret-key"}

func secretFlags(flags *pflag.FlagSet) {
	for _, name := range inFiles {
		flags.String(name+secretFile, "", "file that holds what --"+name+" would say")
	}
}

// secretFiles lists the files that settings are read from.
func secretFiles(v *viper.Viper) (files []string) {
	if file := v.GetString("config"); file != "" {
		files = append(files, file)
	}
	for _, name := range inFiles {
		if file := v.GetString(name + secretFile); file != "" {
			files = append(files, file)
		}
	}
	for _, name := range []string{"secrets-key-file", "task-keys-file", "join-token-file", "join-tokens-file", oidcSecret + secretFile, smtpPassword + secretFile} {
		if file := v.GetString(name); file != "" {
			files = append(files, file)
		}
	}
	if credentials := v.GetString("nats-credentials"); strings.HasSuffix(credentials, credentialsSuffix) {
		files = append(files, credentials)
	}
	return files
}

// closedToJobs lists what no job may reach: the data folder, the tokens of this user's servers, and the files that secrets
// were read from. systemd hands these over in a folder.
func (c *ServerConfig) closedToJobs() (paths []string) {
	all := append([]string{c.Data, c.StateFolder, c.TokenFile, c.MetricsTokenFile, c.TLSKey, c.NATSTLS.Key, c.Enrolment, c.NATSAccountKeyFile, os.Getenv("CREDENTIALS_DIRECTORY")}, c.SecretFiles...)
	for _, path := range all {
		if full, err := filepath.Abs(path); err == nil && path != "" {
			paths = append(paths, full)
		}
	}
	return paths
}

// secretSetting reads a setting that may stand in a file of its own.
func secretSetting(v *viper.Viper, name string) (string, error) {
	path := v.GetString(name + secretFile)
	if path == "" {
		return v.GetString(name), nil
	}
	if v.GetString(name) != "" {
		return "", usage("--%s and --%s%s say the same thing: give one of them", name, name, secretFile)
	}
	return readSecret("--"+name+secretFile, path)
}

// readSecret reads the one line of a file; flag is what the file was named by.
func readSecret(flag, path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usage("%s: there is no file %s", flag, path)
	}
	if err != nil {
		return "", usage("%s: %w", flag, err)
	}
	line := strings.TrimSpace(string(text))
	switch {
	case line == "":
		return "", usage("%s: the file %s is empty", flag, path)
	case strings.ContainsAny(line, "\r\n"):
		return "", usage("%s: the file %s has more than one line: it should hold the value and nothing else", flag, path)
	}
	return line, nil
}
