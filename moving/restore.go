package moving

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// Target is where a backup is restored to: what is empty, or what an earlier try has left of the same backup.
type Target struct {
	Documents Store
	Objects   Objects // nil: they are left out
	// Key keeps a secret of the data folder; nil: they are left out.
	Key func(name string, content []byte) error
}

// Restore puts a backup into a target, and compares what is there then. The caller has verified it.
func Restore(ctx context.Context, from io.Reader, to Target, progress Progress) (*Manifest, error) {
	want := Tallies{}
	running := false
	var objects int64
	manifest, err := walk(ctx, from, &handler{
		header: func(header *Header) error {
			running = header.Running
			return nil
		},
		documents: func(of engine.Collection, documents []engine.Document) error {
			if running && of == engine.CollectionRuns {
				for i := range documents {
					if run, is := documents[i].(engine.Run); is {
						documents[i] = unclear(run)
					}
				}
			}
			if want[of] == nil {
				want[of] = &Tally{}
			}
			for _, document := range documents {
				if err := want[of].Add(document); err != nil {
					return err
				}
			}
			if err := to.Documents.PutDocuments(ctx, documents); err != nil {
				return err
			}
			progress.tell("restoring "+title(of), want[of].Count)
			return nil
		},
		key: func(name string, content []byte) error {
			if to.Key == nil {
				return nil
			}
			return to.Key(name, content)
		},
		object: func(key string, content io.Reader, size int64) error {
			if to.Objects == nil {
				return nil
			}
			objects++
			progress.tell("restoring objects", objects)
			return to.Objects.PutObject(ctx, key, content, size)
		},
	})
	if err != nil {
		return nil, err
	}
	got, err := Count(ctx, to.Documents, progress)
	if err != nil {
		return nil, err
	}
	if want[engine.CollectionSharedKeys] == nil { // left out of the backup: those of the target are its own
		delete(got, engine.CollectionSharedKeys)
	}
	if err := want.Compare(got); err != nil {
		return nil, fmt.Errorf("what was restored is not what the backup holds: %w", err)
	}
	if to.Objects != nil {
		if err := compareObjects(ctx, manifest, to.Objects); err != nil {
			return nil, err
		}
	}
	return manifest, nil
}

// compareObjects holds the objects of a target to a manifest, by their number and size.
func compareObjects(ctx context.Context, manifest *Manifest, objects Objects) error {
	for _, folder := range Folders() {
		name := objectsFolder + strings.TrimSuffix(folder, "/")
		var count, size int64
		if err := objects.Objects(ctx, folder, func(object Object) error {
			count, size = count+1, size+object.Size
			return nil
		}); err != nil {
			return err
		}
		at := slices.IndexFunc(manifest.Sections, func(s Section) bool { return s.Name == name })
		switch {
		case at < 0 && count > 0:
			return fmt.Errorf("what was restored is not what the backup holds: %d objects in %s, and none in the backup", count, folder)
		case at >= 0 && (manifest.Sections[at].Count != count || manifest.Sections[at].Bytes != size):
			return fmt.Errorf("what was restored is not what the backup holds: %d objects of %d bytes in %s, and %d of %d bytes in the backup",
				count, size, folder, manifest.Sections[at].Count, manifest.Sections[at].Bytes)
		}
	}
	return nil
}

// unclear is a run as it is after a backup that was made while the server ran. What was queued then may have begun
// since, and an attempt never starts twice: so it counts as begun. No executor holds its lock, so that the supervisor
// declares it lost; what follows is the next attempt, or, where the job is delivered at most once, the end.
func unclear(run engine.Run) engine.Run {
	if run.Status != engine.StatusQueued {
		return run
	}
	run = run.Clone()
	run.Status, run.Reason = engine.StatusRunning, "it was queued when the backup was made: whether it has begun since is not known"
	if attempt := run.Current(); attempt != nil {
		attempt.Status = engine.StatusRunning
	}
	return run
}
