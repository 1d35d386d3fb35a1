package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// secretsKeyFile is the key of secrets in the data folder.
	secretsKeyFile = "secrets.key"
	// tendEvery is how often a node reads its key again, and reseals what was sealed for the previous one.
	tendEvery = time.Minute
)

// secretsPart is what a node knows of secrets.
type secretsPart struct {
	ring  *secret.Ring  // nil without a key
	vault *secret.Vault // nil without a store
	giver *secretGiver  // nil without the engine
	own   string        // the file of the data folder that holds the key; "" where it comes from elsewhere

	rotating sync.Mutex
}

// validateSecretsKey refuses two keys.
func (c *ServerConfig) validateSecretsKey() error {
	var given []string
	for _, of := range []struct{ flag, value string }{
		{"--secrets-key", c.SecretsKey}, {"--secrets-key-file", c.SecretsKeyFile}, {"--secrets-key-command", c.SecretsKeyCommand},
	} {
		if of.value != "" {
			given = append(given, of.flag)
		}
	}
	if len(given) > 1 {
		return usage("%s say the same thing: give one of them", strings.Join(given, " and "))
	}
	return nil
}

// secretsSource returns where the key comes from by the settings, nil where they name nothing, and the flag that does.
func (c *ServerConfig) secretsSource() (source secret.Source, flag string) {
	switch {
	case c.SecretsKey != "":
		text := []byte(strings.NewReplacer(",", "\n", " ", "\n").Replace(c.SecretsKey)) // in an environment it is one line
		return func(context.Context) ([]byte, error) { return text, nil }, "--secrets-key"
	case c.SecretsKeyFile != "":
		return fileSource(c.SecretsKeyFile), "--secrets-key-file"
	case c.SecretsKeyCommand != "":
		return commandSource(c.SecretsKeyCommand), "--secrets-key-command"
	}
	return nil, ""
}

func fileSource(path string) secret.Source {
	return func(context.Context) ([]byte, error) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no file %s", path)
		}
		return text, err
	}
}

func commandSource(line string) secret.Source {
	return func(ctx context.Context) ([]byte, error) {
		command := exec.CommandContext(ctx, "/bin/sh", "-c", line)
		var said bytes.Buffer
		command.Stderr = &said
		text, err := command.Output()
		if err != nil {
			words, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
			return nil, fmt.Errorf("the command failed: %w: %s", err, words)
		}
		return text, nil
	}
}

// openSecrets reads the key of secrets, and compares it with the one that they are sealed for. A server with all roles makes
// the key at its first start; where secrets are kept that its key is not for, nothing is made or changed.
func (s *Server) openSecrets(ctx context.Context) error {
	source, flag := s.config.secretsSource()
	lost := false
	if source == nil {
		path, err := s.ownSecretsKey(ctx)
		if err != nil {
			return err
		}
		if path != "" {
			source, flag, s.secrets.own = fileSource(path), path, path
		} else {
			lost = s.makesSecretsKey()
		}
	}
	if source != nil {
		ring, err := secret.NewRing(ctx, source)
		if err != nil {
			return usage("%s: %w", flag, err)
		}
		s.secrets.ring = ring
	}
	if s.store == nil {
		return nil
	}
	s.secrets.vault = secret.NewVault(s.store, s.secrets.ring, time.Now)
	if lost {
		s.log.Error(secret.ErrLost.Error())
		s.secrets.vault.Lost()
	}
	if s.secrets.ring != nil {
		state, err := s.secrets.vault.Establish(ctx)
		if err != nil {
			return fmt.Errorf("compare the key of secrets with the one that they are sealed for: %w", err)
		}
		if state == secret.KeyWrong {
			s.log.Error(wrongKey, "key", flag)
		}
		s.parts.add("the key of secrets", s.tendSecrets)
	}
	return nil
}

const wrongKey = "the key of secrets here is not the one that they are sealed for, so that runs that need secrets fail; nothing was changed: " +
	"give the right key; if it is lost, delete all secrets and set them again"

// makesSecretsKey reports whether this node makes the key of secrets: it keeps them, and opens them, and shares its store with
// no other node that could make another key at the same time.
func (s *Server) makesSecretsKey() bool {
	return s.store != nil && s.config.MongoURI == "" && s.config.has(roleExecutor)
}

// ownSecretsKey returns the path of the data folder's own key, which it makes if no secret is kept yet; "" if there is none.
func (s *Server) ownSecretsKey(ctx context.Context) (string, error) {
	path := s.data.path(secretsKeyFile)
	_, err := os.Stat(path)
	if err == nil {
		return path, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", explainData(path, err)
	}
	if !s.makesSecretsKey() {
		return "", nil
	}
	if kept, err := secret.NewVault(s.store, nil, time.Now).Kept(ctx); err != nil || kept {
		return "", err
	}
	key, err := secret.NewKey()
	if err != nil {
		return "", err
	}
	if err := writeFile(path, key.Text(), 0o600); err != nil {
		return "", explainData(path, err)
	}
	return path, nil
}

// tendSecrets follows rotations of the key until ctx ends.
func (s *Server) tendSecrets(ctx context.Context) error {
	said := ""
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		state, resealed, foreign, err := s.secrets.vault.Tend(ctx)
		if resealed > 0 {
			s.log.Info("resealed secrets for the new key", "secrets", resealed)
		}
		news := ""
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			news = "the key of secrets could not be looked after; it is tried again: " + err.Error()
		case state == secret.KeyWrong:
			news = wrongKey
		case foreign > 0:
			news = fmt.Sprintf("%d secrets are sealed for a key that is not here: set them again, or bring that key", foreign)
		}
		if news != "" && news != said {
			s.log.Error(news)
		}
		said = news
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// rotateSecretsKey creates a new key in the data folder and reseals all secrets with it. The one before stays in the file, as runs
// that wait carry values that were sealed for it.
func (s *Server) rotateSecretsKey(ctx context.Context) (recipient string, resealed int, err error) {
	s.secrets.rotating.Lock()
	defer s.secrets.rotating.Unlock()
	if s.secrets.own == "" || s.config.NATSURL != "" || s.config.NATSListen != "" {
		return "", 0, &service.Error{Kind: service.KindConflict, Code: "key_elsewhere",
			Detail: "the key of secrets is not this server's alone: make another by `tidewheel secret new-key`, " +
				"add it as the last line to the key of every node, then make it the first line; values are resealed within a minute"}
	}
	fresh, err := secret.NewKey()
	if err != nil {
		return "", 0, err
	}
	used, err := s.secrets.vault.InUse(ctx)
	if err != nil {
		return "", 0, err
	}
	now := s.secrets.ring.Key()
	rotated := now.Rotated(fresh, func(recipient string) bool { return used[recipient] || recipient == now.Recipient() })
	if err := writeFile(s.secrets.own, rotated.Text(), 0o600); err != nil {
		return "", 0, explainData(s.secrets.own, err)
	}
	state, resealed, foreign, err := s.secrets.vault.Tend(ctx)
	if err == nil && (state != secret.KeyFits || foreign > 0) {
		err = &service.Error{Kind: service.KindConflict, Code: "key_wrong", Detail: wrongKey}
	}
	s.log.Info("the key of secrets was rotated", "recipient", fresh.Recipient(), "secrets", resealed, "by", service.Actor(ctx))
	return fresh.Recipient(), resealed, err
}
