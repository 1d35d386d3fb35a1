package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/spec"
)

// What a program may leave in $TIDEWHEEL_ARTIFACTS, beside Config.ArtifactSize. Names travel in a message of the queue.
const (
	maxArtifacts       = 1000
	maxArtifactFolders = 1000
	maxArtifactName    = 512      // bytes
	maxArtifactNames   = 96 << 10 // bytes, of all
)

// handOn reads the outputs of a program that has succeeded and stores its artifacts. Where that cannot be done the
// attempt has not succeeded.
func (a *attempt) handOn(finish *engine.Finish, folder *process.Folder) {
	outputs, artifacts, failed := a.collect(folder)
	if failed == nil {
		finish.Outputs, finish.Artifacts = outputs, artifacts
		return
	}
	finish.Status, finish.Error, finish.NoRetry = engine.StatusFailed, failed.message, failed.noRetry
	if a.cutShort(finish) {
		return
	}
	switch {
	case failed.unfetched:
		finish.HandedBack, finish.Unfetched = true, true
	case !failed.noRetry:
		finish.ExitCode = nil // exit 0 says that another try is of no use
	}
}

// collect finds what a program hands on. One that leaves nothing in its folder costs a look or two.
func (a *attempt) collect(folder *process.Folder) (outputs []byte, artifacts []engine.Artifact, failed *failure) {
	written, kept := folder.Used()
	if written {
		_, err := os.Lstat(folder.Path + "/" + outputName)
		written = !errors.Is(err, fs.ErrNotExist)
	}
	if !written && !kept {
		return nil, nil, nil
	}
	root, err := os.OpenRoot(folder.Path)
	if err != nil {
		return nil, nil, &failure{message: "executor " + a.e.config.ID + " cannot open its work folder: " + cause(err)}
	}
	defer root.Close()
	if written {
		if outputs, err = readOutputs(root, folder.UID, a.mask); err != nil {
			return nil, nil, &failure{noRetry: true, message: err.Error()}
		}
	}
	if kept {
		if artifacts, failed = a.keep(root, folder); failed != nil {
			return nil, nil, failed
		}
	}
	return outputs, artifacts, nil
}

// keep stores the files of a folder.
func (a *attempt) keep(work *os.Root, folder *process.Folder) ([]engine.Artifact, *failure) {
	name := filepath.Base(folder.Keep)
	info, err := work.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) { // the program has removed it
		return nil, nil
	}
	if err == nil && !info.IsDir() {
		err = errors.New("the program has put something else in its place")
	}
	var root *os.Root
	if err == nil {
		root, err = work.OpenRoot(name)
	}
	if err != nil {
		return nil, &failure{noRetry: true, message: "the folder $TIDEWHEEL_ARTIFACTS cannot be read: " + bare(err).Error()}
	}
	defer root.Close()
	artifacts, err := findArtifacts(root, folder.UID, a.e.config.ArtifactSize, a.mask)
	var names []string
	if err == nil {
		names, err = maskNames(artifacts, a.mask)
	}
	if err != nil {
		return nil, &failure{noRetry: true, message: err.Error()}
	}
	if failed := a.overQuota(artifacts); failed != nil {
		return nil, failed
	}
	group, ctx := errgroup.WithContext(a.ctx)
	group.SetLimit(transfersAtOnce)
	for i := range artifacts {
		group.Go(func() error { return a.keepFile(ctx, root, folder.UID, names[i], &artifacts[i]) })
	}
	var failed *failure
	switch err := group.Wait(); {
	case err == nil:
		return artifacts, nil
	case errors.As(err, &failed):
		return nil, failed
	default:
		return nil, &failure{message: "its artifacts could not be stored: " + err.Error()}
	}
}

// overQuota refuses artifacts that the namespace may not store. Another try of the attempt may find more room.
func (a *attempt) overQuota(artifacts []engine.Artifact) *failure {
	if a.task.ArtifactRoom == nil {
		return nil
	}
	var size int64
	for i := range artifacts {
		size += artifacts[i].Size
	}
	if size <= *a.task.ArtifactRoom {
		return nil
	}
	return &failure{message: fmt.Sprintf("its artifacts have %s together, and by its quota (stored_bytes) namespace %q may store %s more: "+
		"leave less, delete binaries that nothing uses, wait until older runs go with their artifacts, or ask an admin of all namespaces "+
		"for more (`tidewheel namespace set %s --max-stored SIZE`)",
		spec.Size(size), a.task.Namespace, spec.Size(*a.task.ArtifactRoom), a.task.Namespace)}
}

// maskNames takes secrets out of the names of artifacts, and returns those that the files have. No two may be the same
// then.
func maskNames(artifacts []engine.Artifact, mask *output.Mask) (names []string, err error) {
	known := make(map[string]bool, len(artifacts))
	for i := range artifacts {
		names = append(names, artifacts[i].Name)
		artifacts[i].Name = mask.String(artifacts[i].Name)
		if known[artifacts[i].Name] {
			return nil, fmt.Errorf("two files in $TIDEWHEEL_ARTIFACTS are called %s without the secrets in their names: use other names", quoted(artifacts[i].Name))
		}
		known[artifacts[i].Name] = true
	}
	return names, nil
}

// keepFile stores one file and notes its digest. file is its name in the folder.
func (a *attempt) keepFile(ctx context.Context, root *os.Root, owner int, name string, artifact *engine.Artifact) error {
	which := "its artifact " + artifact.Name
	file, before, err := openRegular(root, name, owner)
	if err != nil {
		return &failure{noRetry: true, message: fmt.Sprintf("%s cannot be read: %v", which, err)}
	}
	defer file.Close()
	return a.transfer(ctx, which, "stored", artifact.Size, func(ctx context.Context) (again bool, err error) {
		content := io.NewSectionReader(file, 0, artifact.Size)
		artifact.SHA256, err = a.e.blobs.PutArtifact(ctx, a.task.Run, a.task.Attempt, artifact.Name, content)
		after, unknown := file.Stat()
		if unknown != nil || after.Size() != artifact.Size || !after.ModTime().Equal(before.ModTime()) {
			return false, &failure{noRetry: true, message: which + " changed while it was stored: let the program end what it has started before it ends itself"}
		}
		return true, err
	})
}

// findArtifacts lists the files of a folder in the order of their names, with their sizes. Errors name them as mask has them.
func findArtifacts(root *os.Root, owner int, maxSize int64, mask *output.Mask) ([]engine.Artifact, error) {
	var found []engine.Artifact
	var size int64
	names := 0
	folders := []string{"."}
	for next := 0; next < len(folders); next++ {
		err := eachEntry(root, folders[next], func(name string) error {
			info, err := root.Lstat(name)
			if err != nil {
				return fmt.Errorf("%s in $TIDEWHEEL_ARTIFACTS cannot be read: %w", quoted(mask.String(name)), bare(err))
			}
			if err := nameable(name); err != nil {
				return fmt.Errorf("%s in $TIDEWHEEL_ARTIFACTS cannot be kept: %w", quoted(mask.String(name)), err)
			}
			if info.IsDir() {
				if folders = append(folders, name); len(folders) > maxArtifactFolders {
					return fmt.Errorf("there are more than %d folders in $TIDEWHEEL_ARTIFACTS: pack them into one archive", maxArtifactFolders)
				}
				return nil
			}
			if err := irregular(info, owner); err != nil {
				return fmt.Errorf("%s in $TIDEWHEEL_ARTIFACTS cannot be kept: %w", quoted(mask.String(name)), err)
			}
			found = append(found, engine.Artifact{Name: name, Size: info.Size()})
			size, names = size+info.Size(), names+len(name)
			switch {
			case len(found) > maxArtifacts:
				return fmt.Errorf("there are more than %d files in $TIDEWHEEL_ARTIFACTS: pack them into one archive", maxArtifacts)
			case names > maxArtifactNames:
				return fmt.Errorf("the names of the files in $TIDEWHEEL_ARTIFACTS have more than %d bytes together: pack them into one archive", maxArtifactNames)
			case size > maxSize:
				return fmt.Errorf("the files in $TIDEWHEEL_ARTIFACTS have more than %d bytes together, which is all that is kept of a run: leave less, or store them elsewhere and hand on where", maxSize)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b engine.Artifact) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// eachEntry calls visit with the path of each entry of a folder, without holding them all.
func eachEntry(root *os.Root, folder string, visit func(name string) error) error {
	// The flags matter only if it is a folder no more by now.
	dir, err := root.OpenFile(folder, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("the folder %s in $TIDEWHEEL_ARTIFACTS cannot be read: %w", quoted(folder), bare(err))
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := visit(path.Join(folder, name)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the folder %s in $TIDEWHEEL_ARTIFACTS cannot be read: %w", quoted(folder), bare(err))
		}
	}
}

// nameable reports why a path cannot be the name of an artifact, which is a key in S3 and part of an address.
func nameable(name string) error {
	switch {
	case len(name) > maxArtifactName:
		return fmt.Errorf("its path has more than %d bytes: use shorter names", maxArtifactName)
	case !utf8.ValidString(name):
		return errors.New("its name is not UTF-8: use another one")
	}
	for _, r := range name {
		if unicode.IsControl(r) || r == '\\' {
			return errors.New("its name holds a control character or a backslash: use another one")
		}
	}
	return nil
}
