package executor

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Other programs of the same user may change a folder while it is read: what is opened is what was looked at.
func TestLinkThatTakesThePlaceOfAFileIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	place := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string]string{"file": "file", "other": "other"} {
		if err := os.WriteFile(place(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("other", place("link")); err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, place("file"), unix.AT_FDCWD, place("link"), unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	for range 20_000 {
		file, _, err := openRegular(root, "file", -1)
		if err != nil {
			continue
		}
		content, err := io.ReadAll(file)
		if string(content) != "file" || err != nil {
			t.Errorf("what was opened is %q, %v", content, err)
			break
		}
		_ = file.Close() // it was only read
	}
	close(done)
	<-ended
}
