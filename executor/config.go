package executor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// Config says who an executor is and how it runs programs.
type Config struct {
	ID      string      // unique among executors; letters, digits, '-' and '_'
	Host    string      // for people; default: the machine's name
	Version string      // for people
	Tiers   []spec.Tier // its own first, then those it serves when idle
	// ShareTiers means that all of Tiers are its own: each gets its share while several wait, where otherwise the first goes before all.
	ShareTiers bool
	Slots      int // attempts at once
	// Labels are what jobs may ask for by runs_on.
	Labels map[string]string
	// PremiumWeight is how many premium attempts are taken for each standard one while both wait; default 4.
	PremiumWeight int

	Rights engine.Rights // what it may do at its queue, for people

	WorkDir   string // holds the programs' work folders; belongs to this executor alone
	CacheDir  string // holds downloaded programs
	CacheSize int64  // bytes; default 4 GiB

	ArtifactSize int64 // bytes of all files that an attempt may leave; default 1 GiB, at most 5 GiB
	InputSize    int64 // bytes of all files that are fetched for an attempt; default 10 GiB

	LockTTL       time.Duration // default 10 s
	LockMargin    time.Duration // how long before its lock could expire a program is killed; default a tenth of LockTTL
	PresenceEvery time.Duration // default 3 s; others believe it for three times as long
	DrainTimeout  time.Duration // what running programs are given when Run's context ends; default 30 s
	ReportTimeout time.Duration // what the last reports are given after that; default 10 s
	FetchTimeout  time.Duration // how long a program's bytes are tried for before its attempt is handed back; default 2 min
	LogTimeout    time.Duration // how long the rest of an output is tried to be stored after the program's end; default 2 min

	// RunAs is whom programs run as. nil gives each attempt a user of its own (OwnUsers) if the executor is root, else
	// the executor's own user in a domain of its own (OwnDomains).
	RunAs *User
	// OwnUsers runs each attempt as a user that no other one has, where the system has enough of them, else as RunAs.
	OwnUsers bool
	// OwnDomains runs each attempt that has no user of its own in a Landlock domain of its own, where the kernel can.
	OwnDomains bool
	// OwnNamespaces gives each attempt mount, PID and IPC namespaces of its own, in the place of a domain. Run fails where
	// that cannot be done. It needs a Guardian.
	OwnNamespaces bool
	// Closed are files and folders that attempts in a domain or in namespaces cannot reach, beside WorkDir and CacheDir.
	Closed []string
	// AllowRoot lets programs run as root: RunAs may be root, and nil then keeps the executor's own user.
	AllowRoot bool
	// Path is the PATH of programs, and where interpreters are looked for.
	Path string
	// Guardian is the command line that calls process.Guard with its further arguments. Without it, programs outlive
	// an executor that is killed until the next one starts.
	Guardian []string
	// NoCgroups leaves cgroups alone even where they are writable.
	NoCgroups bool

	// Secrets opens the values of secrets; nil on an executor without their key, where attempts that need one fail.
	Secrets SecretOpener

	// API is where programs here reach the API, in the place of what their tasks say; "" for that.
	API string

	// Runner replaces the starting of processes. It is for benchmarks of all the rest.
	Runner Runner
}

// User is whom programs run as.
type User struct{ UID, GID int }

// Runner starts programs.
type Runner interface {
	Start(command process.Command, stdout, stderr io.Writer) (Running, error)
}

// Running is a program that was started; as process.Process.
type Running interface {
	Wait() process.Exit
	Signal(signal syscall.Signal)
	Kill()
	Started() time.Time
}

const (
	nobody      = 65534
	defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

func (c *Config) setDefaults() {
	if c.Host == "" {
		c.Host, _ = os.Hostname() // for people
	}
	c.CacheSize = cmp.Or(c.CacheSize, 4<<30)
	c.ArtifactSize = cmp.Or(c.ArtifactSize, 1<<30)
	c.InputSize = cmp.Or(c.InputSize, 10<<30)
	c.LockTTL = cmp.Or(c.LockTTL, 10*time.Second)
	c.LockMargin = cmp.Or(c.LockMargin, c.LockTTL/10)
	c.PresenceEvery = cmp.Or(c.PresenceEvery, 3*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.ReportTimeout = cmp.Or(c.ReportTimeout, 10*time.Second)
	c.FetchTimeout = cmp.Or(c.FetchTimeout, 2*time.Minute)
	c.LogTimeout = cmp.Or(c.LogTimeout, 2*time.Minute)
	c.Path = cmp.Or(c.Path, defaultPath)
	if c.RunAs == nil {
		c.RunAs = &User{UID: -1, GID: -1}
		if os.Geteuid() == 0 && !c.AllowRoot {
			c.RunAs, c.OwnUsers = &User{UID: nobody, GID: nobody}, true
		}
		c.OwnDomains = os.Geteuid() != 0
	}
}

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(engine.ValidID(c.ID), "id %q: use letters, digits, '-' and '_'", c.ID)
	check(len(c.Tiers) > 0, "no tier: name at least one")
	check(c.Slots >= 1, "%d slots: use at least one", c.Slots)
	check(c.WorkDir != "" || c.Runner != nil, "no work folder")
	check(c.CacheDir != "", "no cache folder")
	check(c.CacheSize > 0, "a cache of %d bytes: use a positive size", c.CacheSize)
	check(c.ArtifactSize > 0 && c.ArtifactSize <= 5<<30, "artifacts of %d bytes: use a positive size of at most 5 GiB, which is what S3 takes as one object", c.ArtifactSize)
	check(c.InputSize > 0, "inputs of %d bytes: use a positive size", c.InputSize)
	check(c.LockTTL > 2*c.LockMargin && c.LockMargin > 0, "a lock of %v with a margin of %v: the margin must be less than half", c.LockTTL, c.LockMargin)
	check(c.RunAs.UID != 0 || c.AllowRoot, "programs would run as root: allow it, or name another user")
	check(c.RunAs.UID < 0 || c.RunAs.UID == os.Geteuid() || os.Geteuid() == 0, "only an executor that is root can run programs as user %d", c.RunAs.UID)
	check(!c.OwnUsers || process.CanOwnUsers(), "only an executor that is root can run programs as users of their own")
	check((c.RunAs.UID < 0) == (c.RunAs.GID < 0), "give user and group, or neither")
	return errors.Join(errs...)
}
