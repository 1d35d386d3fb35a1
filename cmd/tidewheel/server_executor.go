package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// Folders of an executor inside the data folder. Programs run as another user must be able to enter them.
const (
	workFolder  = "work"
	cacheFolder = "cache"
)

// The settings of --sandbox.
const (
	sandboxStrict   = "strict"
	sandboxStandard = "standard"
	sandboxOff      = "off"
)

// nobody is the user that programs run as if the server is root.
const nobody = 65534

// startExecutor begins to take work.
func (s *Server) startExecutor(context.Context) error {
	uid, gid, err := jobUser(&s.config)
	if err != nil {
		return err
	}
	guardian, err := guardianCommand()
	if err != nil {
		return fmt.Errorf("find this program, for the guardian of the executor: %w", err)
	}
	host, id := executorID()
	rights := engine.RightsWide
	switch {
	case s.identity != nil:
		id, rights = s.identity.id(), engine.RightsOfTier
		s.parts.add("the credentials of this executor", s.keepIdentity)
	case s.store != nil:
		rights = engine.RightsOfNode
	default:
		s.log.Warn("this executor may do everything at NATS, work of other tiers and the engines' included: give it credentials of its own", "cure",
			"tidewheel executor enrol, and --enrolment in the place of --nats-credentials")
	}
	config := executor.Config{
		ID: id, Host: host, Version: version, Tiers: tiersOf(s.config.Tier), ShareTiers: s.config.Tier == "all", Slots: s.config.Slots,
		Labels: executorLabels(host, s.config.Labels),
		Rights: rights, WorkDir: s.data.path(workFolder), CacheDir: s.data.path(cacheFolder), CacheSize: int64(s.config.CacheSize),
		LockTTL: s.config.LockTTL, DrainTimeout: s.config.Drain, FetchTimeout: s.config.FetchTimeout,
		RunAs: &executor.User{UID: uid, GID: gid}, AllowRoot: s.config.AllowRoot, OwnUsers: ownUsers(&s.config),
		OwnDomains: ownDomains(&s.config), OwnNamespaces: s.config.Sandbox == sandboxStrict, Closed: s.config.closedToJobs(), Guardian: guardian, API: s.programAPI(),
	}
	if s.secrets.ring != nil {
		config.Secrets = s.secrets.ring
	}
	worker := executor.New(config, s.queue, executorBlobs{s.blobs}, s.log, s.metrics)
	s.parts.add("the executor", worker.Run)
	return nil
}

// executorID makes a name for this life of the executor, so that history names who ran what, and the machine's.
func executorID() (host, id string) {
	host, name := hostName()
	return host, lifeOf(name)
}

// hostName is the machine's name, and what of it may stand in the name of an executor.
func hostName() (host, name string) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && engine.ValidID(string(r)) {
			return r
		}
		return '-'
	}, host)
	return host, clean[:min(len(clean), 40)]
}

// lifeOf names one life of an executor.
func lifeOf(name string) string { return name + "-" + strings.ToLower(rand.Text()[:6]) }

// executorLabels are the labels that the operator set, and those of the machine; the operator's take precedence.
func executorLabels(host string, given map[string]string) map[string]string {
	labels := make(map[string]string)
	for key, value := range map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "host": host} {
		if _, _, err := spec.ParseExecutorLabel(key + "=" + value); err == nil { // or no job could ask for it
			labels[key] = value
		}
	}
	maps.Copy(labels, given)
	return labels
}

// ownUsers reports whether each attempt runs as a user of its own: unless --run-as, --allow-root or --sandbox off says whom
// jobs run as.
func ownUsers(config *ServerConfig) bool {
	return config.RunAs == "" && !config.AllowRoot && config.Sandbox != sandboxOff && process.CanOwnUsers()
}

// ownDomains reports whether each attempt that has no user of its own runs in a domain of its own: unless --run-as names
// the server's own user, whose jobs may do all that this user may, or --sandbox off says so.
func ownDomains(config *ServerConfig) bool {
	return config.RunAs == "" && config.Sandbox != sandboxOff && os.Geteuid() != 0
}

// validateSandbox refuses what --sandbox cannot be, alone and beside whom jobs run as.
func (c *ServerConfig) validateSandbox() error {
	switch c.Sandbox {
	case "":
		c.Sandbox = sandboxStandard
	case "false": // YAML reads off so
		c.Sandbox = sandboxOff
	}
	switch {
	case c.Sandbox != sandboxStrict && c.Sandbox != sandboxStandard && c.Sandbox != sandboxOff:
		return usage("--sandbox %q: use strict, standard or off", c.Sandbox)
	case c.Sandbox == sandboxStrict && c.AllowRoot:
		return usage("--sandbox strict with --allow-root: root leaves every sandbox; leave out one of them")
	case c.Sandbox == sandboxOff && c.RunAs == "" && !c.AllowRoot && c.has(roleExecutor) && os.Geteuid() == 0:
		return usage("--sandbox off: jobs would run as root, the server's own user; say --run-as USER, or --allow-root if that is meant")
	}
	return nil
}

// jobUser reports whom programs run as that have no user of their own: -1 keeps the server's own user.
func jobUser(config *ServerConfig) (uid, gid int, err error) {
	root := os.Geteuid() == 0
	switch {
	case config.RunAs == "" && root && !config.AllowRoot: // --sandbox off is refused then
		return nobody, nobody, nil
	case config.RunAs == "":
		return -1, -1, nil
	}
	uid, gid, err = lookUpUser(config.RunAs)
	switch {
	case err != nil:
		return 0, 0, usage("--run-as: %w", err)
	case !root && uid != os.Geteuid():
		return 0, 0, usage("--run-as %s: only a server that runs as root can run programs as another user", config.RunAs)
	case uid == 0 && !config.AllowRoot:
		return 0, 0, usage("--run-as %s: programs would run as root; say --allow-root if that is meant", config.RunAs)
	}
	return uid, gid, nil
}

// lookUpUser reads a user's name, or uid[:gid].
func lookUpUser(text string) (uid, gid int, err error) {
	name, group, grouped := strings.Cut(text, ":")
	if uid, err = strconv.Atoi(name); err == nil && uid >= 0 {
		gid = uid
		if found, err := user.LookupId(name); err == nil {
			gid, _ = strconv.Atoi(found.Gid) // a number, on the systems that have --run-as
		}
	} else {
		found, err := user.Lookup(name)
		if err != nil {
			return 0, 0, fmt.Errorf("there is no user %q on this machine", name)
		}
		if uid, err = strconv.Atoi(found.Uid); err != nil {
			return 0, 0, fmt.Errorf("user %q has no number: %w", name, err)
		}
		gid, _ = strconv.Atoi(found.Gid) // as above
	}
	if grouped {
		if gid, err = strconv.Atoi(group); err != nil || gid < 0 {
			return 0, 0, errors.New("write a user, or uid:gid")
		}
	}
	return uid, gid, nil
}

var _ executor.Observer = (*metrics)(nil)

// AttemptStarted counts a program that began, and how late.
func (m *metrics) AttemptStarted(task *engine.Task, at time.Time) {
	m.started.WithLabelValues(string(task.Tier)).Inc()
	if task.Attempt == 1 && !task.Slot.IsZero() {
		m.processLag.WithLabelValues(string(task.Tier), string(task.Class)).Observe(max(at.Sub(task.Slot), 0).Seconds())
	}
}

// AttemptFinished is counted when the engine hears of it.
func (m *metrics) AttemptFinished(*engine.Task, *engine.Finish) {}

// How programs were found in the cache.
const (
	cacheHit  = "hit"
	cacheMiss = "miss"
)

// BinaryFetched counts how an attempt got its program.
func (m *metrics) BinaryFetched(cached bool) {
	result := cacheMiss
	if cached {
		result = cacheHit
	}
	m.cache.WithLabelValues(result).Inc()
}

// TaskRefused counts a task that this node's executor has refused.
func (m *metrics) TaskRefused(reason engine.RefusalReason) {
	m.refused.WithLabelValues(string(reason)).Inc()
}
