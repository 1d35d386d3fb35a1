package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/tidewheel/tidewheel/signing"
)

const (
	// taskKeyName is the name of the engines' own key of tasks among the keys that all nodes with a store share.
	taskKeyName = "task-key"
	// publicTaskKeys is the file in an engine's data folder that executors elsewhere are given.
	publicTaskKeys = "task-keys.pem"
	// tendTaskKeysEvery is how often a node reads its keys of tasks again.
	tendTaskKeysEvery = time.Minute
)

// validateTaskKeys refuses an executor that could not verify what it runs.
func (c *ServerConfig) validateTaskKeys() error {
	switch {
	case c.TaskKeysFile != "" && c.TaskKeysCommand != "":
		return usage("--task-keys-file and --task-keys-command say the same thing: give one of them")
	case !c.needsStore() && c.TaskKeysFile == "" && c.TaskKeysCommand == "" && c.Enrolment == "" && c.JoinTokenFile == "":
		return usage("--roles executor: an executor runs only what engines have signed, and needs their public keys: give --task-keys-file, with "+
			"the file %s of an engine's data folder, or what `tidewheel task-key public` prints for the engines' own file", publicTaskKeys)
	}
	return nil
}

// taskKeysSource returns where the keys of tasks come from by the settings, nil where they name nothing, and the flag that does.
func (c *ServerConfig) taskKeysSource() (source signing.Source, flag string) {
	switch {
	case c.TaskKeysFile != "":
		return signing.Source(fileSource(c.TaskKeysFile)), "--task-keys-file"
	case c.TaskKeysCommand != "":
		return signing.Source(commandSource(c.TaskKeysCommand)), "--task-keys-command"
	}
	return nil, ""
}

// openTaskKeys reads the keys that tasks are signed with and verified by. Engines that are given none share one that the
// first of them makes, in the store.
func (s *Server) openTaskKeys(ctx context.Context) error {
	if !s.config.has(roleEngine) && !s.config.has(roleExecutor) {
		return nil
	}
	source, flag := s.config.taskKeysSource()
	if source == nil && s.identity != nil {
		source, flag = s.identity.taskKeys(), "--enrolment"
	}
	if source == nil {
		fresh := make([]byte, signing.SeedSize)
		_, _ = rand.Read(fresh) // never fails
		seed, err := s.store.SharedKey(ctx, taskKeyName, fresh)
		if err != nil {
			return err
		}
		keys, err := signing.KeysOfSeed(seed)
		if err != nil {
			return err
		}
		s.taskKeys.Use(keys)
	} else if err := s.taskKeys.Open(ctx, source); err != nil {
		return usage("%s: %w", flag, err)
	}
	if err := s.checkTaskKeys(ctx, flag); err != nil {
		return err
	}
	if flag != "--enrolment" { // which are renewed with all that this executor has
		s.parts.add("the keys of tasks", s.tendTaskKeys)
	}
	return nil
}

// checkTaskKeys refuses keys with which this node could not work.
func (s *Server) checkTaskKeys(ctx context.Context, flag string) error {
	keys := s.taskKeys.Keys()
	signs := keys.Signs()
	if s.config.has(roleEngine) {
		if signs == "" {
			return usage("%s: it holds public keys only, and an engine signs tasks: give it the private key", flag)
		}
		return s.publishTaskKeys(ctx, keys)
	}
	if signs != "" && s.store == nil {
		return usage("%s: it holds a private key, which is for engines only: anyone who has it can make executors run anything; "+
			"give executors what `tidewheel task-key public` prints for that file", flag)
	}
	used, err := s.queue.TaskKey(ctx)
	if err != nil {
		return err
	}
	if used != "" && !keys.Trusts(used) {
		return usage("%s: engines sign tasks with the key %s, which is not among these %v, so that nothing would run: "+
			"give this executor the engines' public key (`tidewheel task-key public`)", flag, used, keys)
	}
	return nil
}

// publishTaskKeys leaves the public keys for executors elsewhere, and says which key is in use.
func (s *Server) publishTaskKeys(ctx context.Context, keys *signing.Keys) error {
	text, err := keys.PublicText()
	if err != nil {
		return err
	}
	path := s.data.path(publicTaskKeys)
	if err := writeFile(path, text, 0o600); err != nil {
		return explainData(path, err)
	}
	if err := s.service.PublishTaskKeys(ctx, text); err != nil {
		return err
	}
	used, err := s.queue.TaskKey(ctx)
	if err != nil {
		return err
	}
	if used != "" && !keys.Trusts(used) {
		s.log.Warn("an engine signs tasks with a key that is not trusted here, or did before this start: give all engines the same --task-keys-file",
			"key", used, "here", keys)
	}
	return s.queue.AnnounceTaskKey(ctx, keys.Signs())
}

// tendTaskKeys follows rotations until ctx ends.
func (s *Server) tendTaskKeys(ctx context.Context) error {
	ticker := time.NewTicker(tendTaskKeysEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		before := s.taskKeys.Keys().Signs()
		err := s.taskKeys.Reload(ctx)
		if keys := s.taskKeys.Keys(); err == nil && s.config.has(roleEngine) {
			if err = s.publishTaskKeys(ctx, keys); keys.Signs() != before {
				s.log.Info("tasks are signed with another key", "key", keys.Signs(), "before", before)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("the keys of tasks could not be looked after; it is tried again", "error", err)
		}
	}
}
