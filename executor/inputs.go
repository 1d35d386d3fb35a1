package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/cache"
	"github.com/tidewheel/tidewheel/executor/process"
)

const (
	inputsName   = ".tidewheel-inputs.json" // the file of $TIDEWHEEL_INPUTS in a program's folder
	inputsFolder = "inputs"                 // of the files that earlier tasks have left
	noInputsName = "no-inputs.json"         // what all tasks share that are given nothing
)

// bring puts into a program's folder what the tasks before it have handed on, and returns the path of $TIDEWHEEL_INPUTS;
// "" where there is none.
func (a *attempt) bring(folder *process.Folder) (string, *failure) {
	if len(a.task.Inputs) == 0 {
		if a.task.Task == "" {
			return "", nil
		}
		return a.e.noInputs, nil
	}
	root, err := os.OpenRoot(folder.Path)
	if err != nil {
		return "", a.noRoom(err)
	}
	defer root.Close()
	brought := &inbox{root: root, uid: folder.UID, gid: folder.GID, made: make(map[string]bool)}
	content, err := inputsOf(a.task.Inputs)
	if err != nil {
		return "", &failure{noRetry: true, message: "the outputs of the upstream tasks cannot be read: " + err.Error()}
	}
	if err := brought.make(inputsName, func(file *os.File) error { _, err := file.Write(content); return err }); err != nil {
		return "", a.noRoom(err)
	}
	if failed := a.bringFiles(brought); failed != nil {
		return "", failed
	}
	return filepath.Join(folder.Path, inputsName), nil
}

// inputsOf gives outputs by task, {"orders": {"rows": 5}}; those of a mapped task as a list with an entry for each item.
func inputsOf(inputs []engine.Input) ([]byte, error) {
	const none = "{}"
	all := make(map[string]any)
	for i := range inputs {
		in := &inputs[i]
		outputs := in.Outputs
		if len(outputs) == 0 {
			outputs = json.RawMessage(none)
		}
		if in.Item == nil {
			all[in.Task] = outputs
			continue
		}
		items, _ := all[in.Task].([]json.RawMessage)
		for len(items) <= max(*in.Item, in.Items-1) {
			items = append(items, json.RawMessage(none))
		}
		items[*in.Item] = outputs
		all[in.Task] = items
	}
	return json.Marshal(all)
}

// bringFiles fetches the artifacts of the tasks before.
func (a *attempt) bringFiles(brought *inbox) *failure {
	var total int64
	for i := range a.task.Inputs {
		for k := range a.task.Inputs[i].Artifacts {
			total += a.task.Inputs[i].Artifacts[k].Size
		}
	}
	if total > a.e.config.InputSize {
		return &failure{noRetry: true, message: fmt.Sprintf("the artifacts of the tasks that it needs have %d bytes together, and an executor fetches at most %d for a task: leave less", total, a.e.config.InputSize)}
	}
	group, ctx := errgroup.WithContext(a.ctx)
	group.SetLimit(transfersAtOnce)
	for i := range a.task.Inputs {
		in := &a.task.Inputs[i]
		dir := path.Join(inputsFolder, in.Task)
		if in.Item != nil {
			dir = path.Join(dir, strconv.Itoa(*in.Item))
		}
		for k := range in.Artifacts {
			artifact := &in.Artifacts[k]
			name := path.Join(dir, artifact.Name)
			if !filepath.IsLocal(artifact.Name) || !filepath.IsLocal(in.Task) {
				_ = group.Wait() // the error in hand says what to do
				return &failure{noRetry: true, message: fmt.Sprintf("the artifact %s of task %s would lie outside of its folder", quoted(artifact.Name), quoted(in.Task))}
			}
			if err := brought.makeFolder(path.Dir(name)); err != nil {
				_ = group.Wait() // as above
				return a.noRoom(err)
			}
			group.Go(func() error { return a.bringFile(ctx, brought, name, in, artifact) })
		}
	}
	var failed *failure
	switch err := group.Wait(); {
	case err == nil:
		return nil
	case a.ctx.Err() != nil:
		return a.stoppedBefore()
	case errors.As(err, &failed):
		return failed
	default:
		return a.noRoom(err)
	}
}

// bringFile fetches one artifact. Where the store is out of reach it is retried.
func (a *attempt) bringFile(ctx context.Context, brought *inbox, name string, in *engine.Input, artifact *engine.Artifact) error {
	which := fmt.Sprintf("the artifact %s of task %s", artifact.Name, in.Task)
	damaged := false
	return a.transfer(ctx, which, "fetched", artifact.Size, func(ctx context.Context) (again bool, err error) {
		content, err := a.e.blobs.GetArtifact(ctx, in.Run, in.Attempt, artifact.Name, artifact.SHA256)
		if err == nil {
			source := &noting{reader: content}
			err = brought.make(name, func(file *os.File) error { _, err := io.Copy(file, source); return err })
			_ = content.Close() // it was only read
			if err != nil && source.err == nil {
				return false, a.noRoom(err)
			}
		}
		var digest *cache.DigestError
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return false, &failure{noRetry: true, message: which + " is not stored any more: run that task again"}
		case errors.As(err, &digest) && damaged:
			return false, &failure{noRetry: true, message: fmt.Sprintf("%s is damaged where it is stored: its bytes have sha256 %s, not %s; run that task again", which, digest.Got, digest.Want)}
		case errors.As(err, &digest):
			damaged = true // perhaps on the way
		}
		return true, err
	})
}

// noting remembers why reading failed, to distinguish it from a failure to write.
type noting struct {
	reader io.Reader
	err    error
}

func (n *noting) Read(p []byte) (int, error) {
	count, err := n.reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return count, err
}

// inbox is a work folder into which files are put for its program. All that is done goes through descriptors below the
// folder: programs that run as the same user may exchange what is in it meanwhile.
type inbox struct {
	root     *os.Root
	uid, gid int             // of the program; negative: this process's own
	made     map[string]bool // folders
}

// make makes a file that the program may read and change.
func (b *inbox) make(name string, write func(*os.File) error) (err error) {
	if err := b.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a try before
		return err
	}
	file, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := b.give(file); err != nil {
		return err
	}
	return write(file)
}

// makeFolder makes a folder and those above it that are not made yet, for the program to use.
func (b *inbox) makeFolder(dir string) error {
	if dir == "." || b.made[dir] {
		return nil
	}
	if err := b.makeFolder(path.Dir(dir)); err != nil {
		return err
	}
	if err := b.root.Mkdir(dir, 0o700); err != nil {
		return err
	}
	// By its name, a hard link to another user's file could be given away in its place.
	file, err := b.root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(b.give(file), file.Close()); err != nil {
		return err
	}
	b.made[dir] = true
	return nil
}

func (b *inbox) give(file *os.File) error {
	if b.uid < 0 {
		return nil
	}
	return file.Chown(b.uid, b.gid)
}

// noRoom is the failure of this machine's disk.
func (a *attempt) noRoom(err error) *failure {
	if isFull(err) {
		return &failure{unfetched: true, message: "the disk of executor " + a.e.config.ID + " is full: the outputs of the upstream tasks do not fit"}
	}
	return &failure{unfetched: true, message: "executor " + a.e.config.ID + " cannot fill its work folder: " + cause(err)}
}
