package moving

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// CopyObjects copies all objects of a bucket to another, and compares each, byte by byte. What is there already as it
// should be stays. An object of the source that is gone when its turn comes is left out. It returns how many there are, and
// the keys of programs whose bytes are damaged at the source.
func CopyObjects(ctx context.Context, from, to Objects, progress Progress) (count int64, damaged []string, err error) {
	for _, folder := range Folders() {
		name := strings.TrimSuffix(folder, "/")
		var done int64
		err := from.Objects(ctx, folder, func(object Object) error {
			digest, err := copyObject(ctx, from, to, object.Key)
			switch {
			case errors.Is(err, errGone):
				return nil
			case err != nil:
				return err
			}
			if folder == Binaries && digest != strings.TrimPrefix(object.Key, folder) {
				damaged = append(damaged, object.Key)
			}
			done++
			progress.tell("copying "+name, done)
			return nil
		})
		if err != nil {
			return count, damaged, err
		}
		count += done
	}
	return count, damaged, nil
}

// errGone means that an object of the source is not there any more.
var errGone = errors.New("it is gone")

// copyObject makes an object of the target that of the source, and returns its sha256 in hex.
func copyObject(ctx context.Context, from, to Objects, key string) (digest string, err error) {
	want, err := digestOf(ctx, from, key)
	if errors.Is(err, engine.ErrNotFound) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	got, err := digestOf(ctx, to, key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return "", err
	}
	if err == nil && got == want {
		return want, nil
	}
	content, size, err := from.OpenObject(ctx, key)
	if err != nil {
		return "", err
	}
	defer content.Close()
	if err := to.PutObject(ctx, key, content, size); err != nil {
		return "", err
	}
	if got, err = digestOf(ctx, to, key); err != nil {
		return "", err
	}
	if got != want {
		return "", fmt.Errorf("copy %s: it arrived with sha256 %s instead of %s", key, got, want)
	}
	return want, nil
}

func digestOf(ctx context.Context, objects Objects, key string) (string, error) {
	content, size, err := objects.OpenObject(ctx, key)
	if err != nil {
		return "", err
	}
	defer content.Close()
	digest := sha256.New()
	n, err := io.Copy(digest, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	return fmt.Sprintf("%x", digest.Sum(nil)), nil
}
