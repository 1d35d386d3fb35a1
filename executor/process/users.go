package process

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// users are the ids that a Host runs its programs as, each attempt as another one. They are a block of a range that
// no other process uses; a locked file keeps the block from other executors of the machine as long as this one or its
// guardian lives.
type users struct {
	first, count int
	lock         *os.File

	mu   sync.Mutex
	next int
	used map[int]bool
}

// userRange is cut into blocks, of which each Host takes one.
type userRange struct{ first, size, blocks int }

// userRanges are tried in this order. systemd's table of user ids, which most distributions keep to, calls both unused.
// The second serves containers that map the first 65536 ids only.
var userRanges = []userRange{{1_900_000_000, 10_000, 10_000}, {60_600, 500, 1}}

// claimsDirs hold the locks of blocks; the first that can be used does.
var claimsDirs = []string{"/run/tidewheel", "/tmp/tidewheel-users"}

// claimUsers takes a block that no other executor of this machine has.
func claimUsers() (*users, error) {
	dir, err := claimsDir()
	if err != nil {
		return nil, err
	}
	for _, r := range userRanges {
		if !idsMapped(r.first, r.size*r.blocks) {
			err = fmt.Errorf("this container has no users %d to %d", r.first, r.first+r.size*r.blocks-1)
			continue
		}
		// Executors that do not see each other's locks, in services with a /tmp of their own, choose different ones.
		from := rand.IntN(r.blocks) //nolint:gosec // it spreads executors over the ranges of users, which a lock guards
		for i := range r.blocks {
			first := r.first + (from+i)%r.blocks*r.size
			lock, busy := lockBlock(filepath.Join(dir, "users-"+strconv.Itoa(first)))
			if busy == nil && usersLive(first, r.size) {
				_ = lock.Close() // nothing was written
				busy = syscall.EWOULDBLOCK
			}
			if busy == nil {
				return &users{first: first, count: r.size, lock: lock, used: make(map[int]bool)}, nil
			}
			if err = busy; !errors.Is(busy, syscall.EWOULDBLOCK) {
				return nil, busy
			}
		}
	}
	return nil, err
}

// CheckOwnUsers returns why programs would have no users of their own, or returns one that they would have.
func CheckOwnUsers() (uid int, err error) {
	u, err := claimUsers()
	if err != nil {
		return 0, err
	}
	u.close()
	return u.first, nil
}

func claimsDir() (string, error) {
	var errs []error
	for _, dir := range claimsDirs {
		err := os.Mkdir(dir, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
			continue
		}
		if err := oursAlone(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		return dir, nil
	}
	return "", errors.Join(errs...)
}

func lockBlock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // the error says more
		return nil, err
	}
	return file, nil
}

// take returns an id that no program runs as, and none has for as long as possible.
func (u *users) take() (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for range u.count {
		uid := u.first + u.next
		u.next = (u.next + 1) % u.count
		if !u.used[uid] {
			u.used[uid] = true
			return uid, nil
		}
	}
	return 0, fmt.Errorf("all of its %d user ids are in use", u.count)
}

// put takes an id back of which no process lives.
func (u *users) put(uid int) {
	if u == nil {
		return
	}
	u.mu.Lock()
	delete(u.used, uid)
	u.mu.Unlock()
}

// file is the lock, for the guardian to keep; nil without users.
func (u *users) file() *os.File {
	if u == nil {
		return nil
	}
	return u.lock
}

// String is how the guardian receives them; "" for none.
func (u *users) String() string {
	if u == nil {
		return ""
	}
	return strconv.Itoa(u.first) + "+" + strconv.Itoa(u.count)
}

// parseUsers reads what String has written.
func parseUsers(text string) (first, count int) {
	one, other, _ := strings.Cut(text, "+")
	first, err := strconv.Atoi(one)
	if err != nil {
		return 0, 0
	}
	count, _ = strconv.Atoi(other) // 0 kills no process
	return first, count
}

// anyProcess wants all of them.
func anyProcess(int) bool { return true }

func (u *users) close() {
	if u != nil {
		_ = u.lock.Close() // nothing was written
	}
}

// oursAlone reports why a folder, which anybody could have made, cannot be used.
func oursAlone(dir string) error {
	var stat syscall.Stat_t
	if err := syscall.Lstat(dir, &stat); err != nil {
		return fmt.Errorf("process: look at %s: %w", dir, err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR || int(stat.Uid) != os.Geteuid() || stat.Mode&0o022 != 0 {
		return fmt.Errorf("process: %s exists and is not ours alone: remove it", dir)
	}
	return nil
}
