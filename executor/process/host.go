package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Marker is the environment variable by which the processes of an attempt are known. Command.Env must hold it, with
// the path of the folder.
const Marker = "TIDEWHEEL_WORK_DIR"

// SweepEvery is how often processes that escaped are looked for where there are no cgroups.
const SweepEvery = 10 * time.Second

// Config defines how a Host runs programs.
type Config struct {
	// Dir holds the folders of the programs. It is made if it is missing, and belongs to one Host at a time.
	Dir string
	// UID and GID are whom programs run as; negative ones keep the executor's own. Changing them needs root.
	UID, GID int
	// OwnUsers runs each program as a user of its own where that can be done, and as UID and GID where it cannot.
	OwnUsers bool
	// OwnDomains runs each program in a Landlock domain of its own where it has no user of its own and the kernel can.
	OwnDomains bool
	// OwnNamespaces gives each program mount, PID and IPC namespaces of its own, in the place of a domain. Open fails where
	// that cannot be done. It needs a Guardian.
	OwnNamespaces bool
	// Closed are files and folders that no program in a domain or in namespaces may reach, and Readable those of which one in
	// a domain may read and execute what it knows by name. Dir is closed, but for the program's own folder.
	Closed, Readable []string
	// Guardian is a command line that calls Guard with the arguments appended to it. Without one, programs outlive an
	// executor that is killed, until the next one starts on the same Dir.
	Guardian []string
	// NoCgroups leaves cgroups alone even where they are writable.
	NoCgroups bool
	Logger    *slog.Logger
}

// Host starts programs. It is safe for concurrent use.
type Host struct {
	config     Config
	log        *slog.Logger
	null       *os.File // the standard input of programs without one
	lock       *os.File // held as long as the Host lives
	life       string   // folder of this Host's life, below Dir
	groups     *groups  // nil where there are no cgroups
	threads    *threads
	users      *users      // nil where programs have none of their own
	domains    *domains    // nil as well
	namespaces *namespaces // nil where programs have none of their own
	guardian   *guardian
	folders    folders

	sweep    context.CancelFunc
	sweeping sync.WaitGroup
	mu       sync.Mutex
	living   map[string]struct{} // folders in use
	unswept  bool                // a program has ended since the last sweep
}

// lifePrefix begins the names of the folders that Hosts make below their Dir: one for each life, so that a guardian
// that still cleans up after a killed executor cannot hit what the next one has started.
const lifePrefix = "life-"

// Open makes sure that nothing of an earlier Host on the same folder is left, neither processes nor files.
func Open(config Config) (_ *Host, err error) {
	if config.Logger == nil {
		return nil, errors.New("process: no logger is given")
	}
	if config.Dir, err = filepath.Abs(config.Dir); err != nil {
		return nil, fmt.Errorf("process: find folder: %w", err)
	}
	if euid := os.Geteuid(); euid != 0 && config.UID == euid {
		config.UID, config.GID = -1, -1 // to change to oneself needs root, too
	}
	_, missing := os.Stat(config.Dir)
	if err := os.MkdirAll(config.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("process: make folder: %w", err)
	}
	if missing != nil {
		_ = os.Chmod(config.Dir, 0o711) // whatever the umask: programs must pass through
	}
	h := &Host{config: config, log: config.Logger, living: make(map[string]struct{})}
	defer func() {
		if err != nil {
			h.undo(missing != nil)
		}
	}()
	if h.lock, err = lockFolder(config.Dir); err != nil {
		return nil, err
	}
	if h.null, err = os.Open(os.DevNull); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	keepFiles()
	if h.threads, err = openThreads(); err != nil {
		return nil, err
	}
	if config.OwnUsers {
		if h.users, err = claimUsers(); err != nil {
			h.log.Warn("programs have no users of their own", "reason", err)
			h.users, err = nil, nil
		}
	}
	if config.OwnNamespaces {
		if h.namespaces, err = openNamespaces(h.threads, &config, h.users); err != nil {
			return nil, fmt.Errorf("programs cannot have namespaces of their own: %w", err)
		}
	}
	if config.OwnDomains && h.users == nil && h.namespaces == nil {
		if h.domains, err = openDomains(h.threads, &config); err != nil {
			h.log.Warn("programs have no domains of their own", "reason", err)
			h.domains, err = nil, nil
		}
	}
	h.clean()
	h.life = filepath.Join(config.Dir, lifePrefix+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := errors.Join(os.Mkdir(h.life, 0o711), os.Chmod(h.life, 0o711)); err != nil { // whatever the umask
		return nil, fmt.Errorf("process: make folder: %w", err)
	}
	h.folders = folders{dir: h.life, uid: config.UID, gid: config.GID, users: h.users}
	if !config.NoCgroups {
		if h.groups, err = openGroups(h.life); err != nil {
			h.log.Info("programs run without cgroups: limits are those of each process, and what leaves its session is looked for", "reason", err)
			h.groups, err = nil, nil
		}
	}
	if len(config.Guardian) > 0 {
		if h.guardian, err = startGuardian(config.Guardian, h.life, h.groups.path(), h.users, h.log); err != nil {
			return nil, err
		}
	}
	if h.groups == nil && h.namespaces == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.sweep = cancel
		h.sweeping.Go(func() { h.sweepUntil(ctx) })
	}
	return h, nil
}

// Limited returns the limits that hold for all processes of a program together: memory and CPU. The others are kept for
// each process.
func (h *Host) Limited() (memory, cpu bool) {
	return h.groups != nil && h.groups.memory, h.groups != nil && h.groups.cpu
}

// Share makes a file that every program may read and none but those of the Host's own user may change. It is removed
// when the Host is closed.
func (h *Host) Share(name string, content []byte) (path string, err error) {
	path = filepath.Join(h.life, name)
	if err := os.WriteFile(path, content, 0o444); err != nil {
		return "", fmt.Errorf("process: share %s: %w", name, err)
	}
	if err := os.Chmod(path, 0o444); err != nil { // whatever the umask
		return "", fmt.Errorf("process: share %s: %w", name, err)
	}
	h.namespaces.share(path)
	if err := h.domains.share(path); err != nil {
		return "", fmt.Errorf("process: share %s: %w", name, err)
	}
	return path, nil
}

// Speak tells the guardian that the executor is alive and speaks again until that instant. If it does not, all its programs are ended
// by the guardian, as if it were dead: it may be stopped, and must not be what keeps them alive. The zero time takes
// that back. Without a guardian it does nothing.
func (h *Host) Speak(until time.Time) {
	if h.guardian != nil {
		h.guardian.speak(until)
	}
}

// actsFor is by how much what the guardian ends may have begun after it began to: systems know the beginnings of
// processes to a hundredth of a second only.
const actsFor = 50 * time.Millisecond

// Silenced reports whether the guardian may have ended a program that began at an instant, because the executor did not
// speak. Of a program that has ended it knows for certain.
func (h *Host) Silenced(began time.Time) bool {
	return h.guardian != nil && h.guardian.endedSince(clock()-time.Since(began)-actsFor)
}

// undo removes what an Open that failed has made, so that it leaves nothing behind.
func (h *Host) undo(made bool) {
	h.groups.close()
	h.threads.close()
	h.domains.close()
	h.users.close()
	if h.life != "" {
		_ = os.Remove(h.life) // it is empty
	}
	h.closeFiles()
	if made {
		_ = os.Remove(h.config.Dir) // unless it holds files that are not ours
	}
}

// Close ends the guardian and removes the folders. All programs must have ended.
func (h *Host) Close() error {
	if h.sweep != nil {
		h.sweep()
		h.sweeping.Wait()
	}
	if h.guardian != nil {
		h.guardian.stop()
	}
	h.groups.close()
	h.threads.close()
	h.domains.close()
	h.users.close()
	err := removeAll(h.life)
	h.closeFiles()
	if err != nil {
		return fmt.Errorf("process: remove folder: %w", err)
	}
	return nil
}

func (h *Host) closeFiles() {
	if h.lock != nil {
		_ = os.Remove(h.lock.Name()) // while it is ours; one that stays is locked again
		_ = h.lock.Close()           // nothing was written
	}
	if h.null != nil {
		_ = h.null.Close() // it was only read
	}
}

// clean removes what earlier lives have left.
func (h *Host) clean() {
	names, err := os.ReadDir(h.config.Dir)
	if err != nil {
		h.log.Warn("leftovers of an earlier executor cannot be listed", "error", err)
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name.Name(), lifePrefix) {
			continue
		}
		life := filepath.Join(h.config.Dir, name.Name())
		removeGroups(life)
		if killed := killMarked(life, settleTimeout); killed > 0 {
			h.log.Warn("ended programs of an executor that had died", "processes", killed)
		}
		if err := removeAll(life); err != nil {
			h.log.Warn("a leftover folder cannot be removed", "folder", life, "error", err)
		}
	}
}

// sweepUntil looks for processes that outlived their attempt.
func (h *Host) sweepUntil(ctx context.Context) {
	ticker := time.NewTicker(SweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			h.sweepOnce()
		}
	}
}

func (h *Host) sweepOnce() {
	h.mu.Lock()
	due := h.unswept
	h.unswept = false
	h.mu.Unlock()
	if !due {
		return
	}
	killed := killEach(h.life, func(folder string) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		_, living := h.living[folder]
		return !living
	})
	if killed > 0 {
		h.log.Warn("ended processes that had outlived their attempt", "processes", killed)
	}
}

func (h *Host) enter(folder *Folder) {
	h.mu.Lock()
	h.living[folder.Path] = struct{}{}
	h.mu.Unlock()
}

func (h *Host) leave(folder *Folder) {
	h.mu.Lock()
	delete(h.living, folder.Path)
	h.unswept = true
	h.mu.Unlock()
}
