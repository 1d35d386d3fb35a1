package process

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock's first version: all that it knows of files and folders.
const (
	readRights   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	writeRights  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	folderRights = unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// The versions of Landlock that know more, and the kernels that have them.
const (
	referABI    = 2 // Linux 5.19
	truncateABI = 3 // Linux 6.2
	scopeABI    = 6 // Linux 6.12
)

// landlockABI is the version of Landlock that the kernel has.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == 0:
		return int(abi), nil
	case errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EPERM): // a container's filter answers EPERM
		return 0, errors.New("the kernel has no Landlock (it needs Linux 5.13), or a filter of system calls withholds it")
	case errors.Is(errno, unix.EOPNOTSUPP):
		return 0, errors.New("this kernel has Landlock turned off: add it to the kernel's parameter lsm=")
	}
	return 0, fmt.Errorf("ask for Landlock: %w", errno)
}

// handledBy returns the rights that a domain of that version asks for, and what it shuts in. A file's device controls
// are not among them, as no device lies in what is closed.
func handledBy(abi int) (rights, scopes uint64) {
	rights = readRights | writeRights | folderRights
	if abi >= referABI {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= truncateABI {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= scopeABI {
		scopes = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return rights, scopes
}

// domainGaps returns what a domain of that version does not keep programs from.
func domainGaps(abi int) (gaps []string) {
	if abi < truncateABI {
		gaps = append(gaps, "truncate the executor's files (Linux 6.2 prevents it)")
	}
	if abi < scopeABI {
		gaps = append(gaps, "signal the executor and each other (Linux 6.12 prevents it)")
	}
	return gaps
}

// newRuleset makes a set of rules that denies these rights wherever no rule grants them.
func newRuleset(rights, scopes uint64) (int, error) {
	// Kernels that know less take the zeros at its end.
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights, Scoped: scopes}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // the kernel reads the struct, which lives through the call
	if errno != 0 {
		return -1, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	return int(fd), nil
}

// grant adds a rule: these rights on what the descriptor stands for and all that is below.
func grant(ruleset, fd int, rights uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the kernel reads the struct, which lives through the call
	if errno != 0 {
		return errno
	}
	return nil
}

// restrict puts the calling thread, and what it starts from now on, into a domain of its own. There is no way back.
func restrict(ruleset int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("enter a Landlock domain: %w", errno)
	}
	return nil
}
