package cache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// HeadSize is how many of a file's first bytes are kept at hand, to tell what kind of program it is.
const HeadSize = 512

// Fetch opens the bytes with a digest (sha256, hex). Reading them may fail with a *DigestError.
type Fetch func(ctx context.Context, digest string) (io.ReadCloser, int64, error)

// DigestError reports that bytes are not those that were asked for.
type DigestError struct {
	Want, Got string // sha256, hex
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("the content has sha256 %s, expected %s: it was damaged or exchanged", e.Got, e.Want)
}

// Cache is a folder of files that are named by their digest. It is safe for concurrent use.
type Cache struct {
	dir   string
	limit int64
	fetch Fetch

	mu      sync.Mutex
	entries map[string]*entry
	order   *list.List // of *entry, used most recently first
	size    int64
}

// entry is a file that is there or on its way.
type entry struct {
	digest string
	path   string
	place  *list.Element
	size   int64
	head   []byte
	users  int
	ready  chan struct{} // closed when it is verified, or err is set
	err    error
	gone   bool // not in the table any more, and renamed: the last user removes the file
	known  bool // it was there when the cache was opened, and is not verified yet
	stamp  stamp
}

const (
	partSuffix = ".part"
	goneSuffix = ".gone"
)

// Open takes over the folder, which it makes if it is missing. The limit is in bytes.
func Open(dir string, limit int64, fetch Fetch) (*Cache, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("cache: a limit of %d bytes: use a positive one", limit)
	}
	// Programs may run as another user, which must reach the files by their names, and need not list them.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("cache: make folder: %w", err)
	}
	c := &Cache{dir: dir, limit: limit, fetch: fetch, entries: make(map[string]*entry), order: list.New()}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cache: read folder: %w", err)
	}
	type found struct {
		*entry
		used time.Time
	}
	var old []found
	for _, name := range names {
		path := filepath.Join(dir, name.Name())
		if strings.HasSuffix(name.Name(), partSuffix) || strings.HasSuffix(name.Name(), goneSuffix) {
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("cache: remove leftover: %w", err)
			}
			continue
		}
		info, err := name.Info()
		if err != nil || !info.Mode().IsRegular() || !isDigest(name.Name()) {
			continue
		}
		old = append(old, found{&entry{digest: name.Name(), path: path, size: info.Size(), known: true, ready: closed()}, info.ModTime()})
	}
	slices.SortFunc(old, func(a, b found) int { return a.used.Compare(b.used) })
	for _, f := range old {
		c.insert(f.entry)
		c.size += f.size
	}
	c.shrink(0)
	return c, nil
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func isDigest(name string) bool {
	decoded, err := hex.DecodeString(name)
	return err == nil && len(decoded) == sha256.Size && strings.ToLower(name) == name
}

func (c *Cache) insert(e *entry) {
	c.entries[e.digest] = e
	e.place = c.order.PushFront(e)
}

// File is a file in use. It must be released.
type File struct {
	Path string
	Head []byte // the first HeadSize bytes; not to be changed
	Size int64

	cache *Cache
	entry *entry
}

// Have returns the file with a digest if it is there and has not changed since it was verified; nil is for Get.
func (c *Cache) Have(digest string) *File {
	c.mu.Lock()
	e := c.entries[digest]
	if e == nil || e.known || e.err != nil || !e.loaded() {
		c.mu.Unlock()
		return nil
	}
	e.users++
	c.order.MoveToFront(e.place)
	file, verified := c.file(e), e.stamp
	c.mu.Unlock()
	if !unchanged(file.Path, verified) {
		file.Release()
		return nil
	}
	return file
}

// loaded reports whether no goroutine is loading the entry's file. It is called with the lock.
func (e *entry) loaded() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

// file is called with the lock.
func (c *Cache) file(e *entry) *File {
	return &File{Path: e.path, Head: e.head, Size: e.size, cache: c, entry: e}
}

// Get returns the file with a digest, and fetches it if need be, or if the one that is there has changed since it was
// verified. Errors of Fetch come as they are, wrapped.
func (c *Cache) Get(ctx context.Context, digest string) (*File, error) {
	if !isDigest(digest) {
		return nil, fmt.Errorf("cache: %q is no sha256 in hex", digest)
	}
	for {
		c.mu.Lock()
		e := c.entries[digest]
		leads := e == nil || e.known
		if e == nil {
			e = &entry{digest: digest, path: filepath.Join(c.dir, digest)}
			c.insert(e)
		}
		verify := e.known
		if leads {
			e.ready, e.known = make(chan struct{}), false
		}
		e.users++
		c.order.MoveToFront(e.place)
		ready := e.ready
		c.mu.Unlock()
		if leads {
			err := c.load(ctx, e, verify)
			c.mu.Lock()
			if e.err = err; err != nil {
				c.drop(e)
			}
			c.mu.Unlock()
			close(ready)
		}
		select {
		case <-ready:
		case <-ctx.Done():
			c.release(e)
			return nil, fmt.Errorf("cache: fetch %s: %w", digest, context.Cause(ctx))
		}
		c.mu.Lock()
		err, file, verified := e.err, c.file(e), e.stamp
		c.mu.Unlock()
		if err == nil && (leads || unchanged(file.Path, verified)) {
			return file, nil
		}
		if err == nil {
			// A file that has changed since it was verified is not what the caller asked for.
			c.Evict(file)
			file.Release()
			continue
		}
		c.release(e)
		// Another caller led the fetch and gave up: this caller fetches itself.
		if gaveUp := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded); !leads && gaveUp && ctx.Err() == nil {
			continue
		}
		return nil, fmt.Errorf("cache: fetch %s: %w", digest, err)
	}
}

// Release ends the use of the file.
func (f *File) Release() { f.cache.release(f.entry) }

func (c *Cache) release(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if e.users == 0 && e.gone {
		_ = os.Remove(e.path) // renamed away: at worst the next Open removes it
	}
	if c.size > c.limit {
		c.shrink(0)
	}
}

// Evict forgets a file that has turned out bad, so that the next Get fetches it again. Who uses it may continue.
func (c *Cache) Evict(f *File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(f.entry)
}

// drop takes an entry out of the table, and its file out of the way. It is called with the lock.
func (c *Cache) drop(e *entry) {
	if c.entries[e.digest] != e {
		return
	}
	delete(c.entries, e.digest)
	c.order.Remove(e.place)
	c.size -= e.size
	if e.users == 0 {
		_ = os.Remove(e.path) // a file that stays is found and verified by the next Open
		return
	}
	// Those who run it hold it open; the name is needed for the good one.
	if err := os.Rename(e.path, e.path+goneSuffix); err == nil {
		e.path += goneSuffix
		e.gone = true
	}
}

// shrink removes what was used least recently until there is room for more bytes. It is called with the lock.
func (c *Cache) shrink(more int64) {
	for place := c.order.Back(); place != nil && c.size+more > c.limit; {
		e := place.Value.(*entry)
		place = place.Prev()
		if e.users == 0 {
			c.drop(e)
		}
	}
}

// load brings the file in, or verifies the one that is there. It is called without the lock.
func (c *Cache) load(ctx context.Context, e *entry, verify bool) error {
	if verify {
		if err := e.verify(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		// Damaged since, or removed: the bytes are elsewhere still.
		c.mu.Lock()
		c.size -= e.size
		e.size = 0
		c.mu.Unlock()
	}
	err := c.download(ctx, e)
	if errors.Is(err, syscall.ENOSPC) {
		c.mu.Lock()
		c.shrink(c.limit) // all unused files
		c.mu.Unlock()
		err = c.download(ctx, e)
	}
	return err
}

func (e *entry) verify(ctx context.Context) error {
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Chmod(fileMode); err != nil {
		return err
	}
	info, err := file.Stat() // before it is read: what changes meanwhile is seen at its next use
	if err != nil {
		return err
	}
	digest := newDigest(ctx)
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if err := digest.check(e.digest); err != nil {
		return err
	}
	e.head, e.stamp = digest.head, stampOf(info)
	return nil
}

// fileMode makes a program readable and executable for every user, as scripts must be, and writable for none.
const fileMode = 0o555

func (c *Cache) download(ctx context.Context, e *entry) (err error) {
	body, size, err := c.fetch(ctx, e.digest)
	if err != nil {
		return err
	}
	defer body.Close()
	c.mu.Lock()
	c.shrink(max(size, 0))
	c.mu.Unlock()
	file, err := os.OpenFile(e.path+partSuffix, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // at worst the next Open removes it
		}
	}()
	digest := newDigest(ctx)
	written, err := io.Copy(io.MultiWriter(file, digest), body)
	if err == nil {
		err = digest.check(e.digest)
	}
	if err == nil {
		err = file.Chmod(fileMode)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), e.path); err != nil {
		return err
	}
	info, err := os.Stat(e.path)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.size, e.head, e.stamp = written, digest.head, stampOf(info)
	c.size += written
	c.shrink(0)
	return nil
}

// Missing reports whether the file has vanished from the disk.
func (f *File) Missing() bool {
	_, err := os.Stat(f.Path)
	return errors.Is(err, fs.ErrNotExist)
}
