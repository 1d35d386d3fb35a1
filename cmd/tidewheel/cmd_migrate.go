package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
)

var (
	fromPlace = placeNames{data: "from", mongo: "from-mongodb", s3: "from-s3"}
	toPlace   = placeNames{data: "to", mongo: "to-mongodb", s3: "to-s3"}
)

func (c *cli) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate --from DATA --to-mongodb URI [--to-s3-endpoint URL]",
		Short: "Move everything from a data folder to MongoDB and S3, or back",
		Long: `Move everything from a data folder to MongoDB and S3, or back, while no server runs. What no flag names stays where it is: with
--to-mongodb alone the bucket stays the folder's, with --to-s3-endpoint alone the documents.

Everything is read again in the end and compared. Repeat the same call to resume an interrupted migration; no server starts on either
half of it. The place that was left stays as it was, and is marked so that no server starts there by mistake.

Stop the server in good order before (one signal, and wait): results that executors have sent and the server has not stored are in its
queue, which does not move.`,
		Example: "  tidewheel migrate --from /var/lib/tidewheel --to-mongodb mongodb://db/tidewheel --to-s3-endpoint https://s3.example.com\n" +
			"  tidewheel migrate --from-mongodb mongodb://db/tidewheel --from-s3-endpoint https://s3.example.com --to /var/lib/tidewheel",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := placeOf(cmd.Flags(), fromPlace)
			if err != nil {
				return err
			}
			to, err := placeOf(cmd.Flags(), toPlace)
			if err != nil {
				return err
			}
			m := &migration{cli: c}
			return m.run(cmd.Context(), from, to)
		},
	}
	placeFlags(cmd.Flags(), fromPlace, "to move from")
	placeFlags(cmd.Flags(), toPlace, "to move to")
	cmd.Flags().SortFlags = false
	return cmd
}

// migration moves what one place holds to another.
type migration struct {
	*cli
	from, to             *place
	documents, objects   bool // what is moved
	moved                migrated
	source, destination  string // for people, and for the marks
	beforehand, leftover *moveMark
}

// migrated is the result of a migration, as programs read it.
type migrated struct {
	Documents int64  `json:"documents"`
	Objects   int64  `json:"objects"`
	Running   int    `json:"running"`           // runs that had begun and not ended
	Already   bool   `json:"already,omitempty"` // an earlier call had moved everything
	Queue     string `json:"queue,omitempty"`   // where the queue of before was put
}

// check reports what is moved, and refuses what makes no sense.
func (m *migration) check(from, to *placeConfig) error {
	switch {
	case !from.named() || !to.named():
		return usage("say from where and to where: --from DATA --to-mongodb URI [--to-s3-endpoint URL], or --from-mongodb URI [--from-s3-endpoint URL] --to DATA")
	case from.data != "" && to.data != "":
		return usage("--from and --to are both folders: copy the folder itself, while no server runs")
	case from.mongoURI != "" && to.mongoURI != "":
		return usage("--from-mongodb and --to-mongodb are both databases: use mongodump and mongorestore, or `tidewheel backup` and `tidewheel restore`")
	case from.s3.Endpoint != "" && to.s3.Endpoint != "":
		return usage("--from-s3-endpoint and --to-s3-endpoint are both buckets: copy one to the other with the tools of S3")
	case from.data != "" && (from.mongoURI != "" || from.s3.Endpoint != ""), to.data != "" && (to.mongoURI != "" || to.s3.Endpoint != ""):
		return usage("a folder is moved to MongoDB and S3, or these to a folder: give --from alone, or --to alone")
	case from.data == "" && to.data == "":
		return usage("one side is a data folder: give --from or --to")
	}
	m.documents = from.mongoURI != "" || to.mongoURI != ""
	m.objects = from.s3.Endpoint != "" || to.s3.Endpoint != ""
	m.source, m.destination = from.name(), to.name()
	return nil
}

func (m *migration) run(ctx context.Context, from, to placeConfig) (err error) {
	if err := m.check(&from, &to); err != nil {
		return err
	}
	if from.data != "" {
		if _, err := os.Stat(filepath.Join(from.data, markFile)); err != nil {
			return usage("--from: %s is no data folder of Tidewheel", from.data)
		}
	}
	log := m.quietLog()
	if m.from, err = openPlace(ctx, from, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.from.close(ctx)) }()
	if m.to, err = openPlace(ctx, to, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.to.close(ctx)) }()

	if err := m.begin(ctx); err != nil {
		return err
	}
	if m.moved.Already {
		return m.report()
	}
	if err := m.move(ctx); err != nil {
		if errors.Is(err, engine.ErrFull) || errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk became full: free some space and run the command again to continue: %w", err)
		}
		return err
	}
	return m.report()
}

// begin looks whether the move may be made, and marks where it goes.
func (m *migration) begin(ctx context.Context) error {
	if !m.documents {
		return m.beginObjects(ctx)
	}
	mine := &moveMark{Kind: markMigrate, Other: m.source, At: m.now().UTC()}
	var err error
	if m.beforehand, err = m.from.mark(ctx); err != nil {
		return err
	}
	if m.leftover, err = m.to.mark(ctx); err != nil {
		return err
	}
	goesOn := m.leftover != nil && m.leftover.sameMove(mine)
	if before := m.beforehand; before != nil {
		switch thither := before.Kind == markMoved && before.Other == m.destination; {
		case thither && m.leftover == nil:
			m.moved.Already = true
			return nil
		case thither && goesOn: // it broke off between the last two steps
		default:
			return before.refusal(m.source, "see docs/moving.md")
		}
	}
	if m.leftover != nil && !goesOn {
		return m.leftover.refusal(m.destination, "see docs/moving.md")
	}
	if !goesOn {
		if empty, err := moving.Empty(ctx, m.to.documents); err != nil {
			return err
		} else if !empty {
			return usage("%s holds jobs or history already, and they would be mixed up: give an empty place", m.destination)
		}
	}
	for _, p := range []*place{m.from, m.to} {
		if err := p.wantAtRest(ctx); err != nil {
			return err
		}
	}
	if goesOn {
		return nil
	}
	if m.objects {
		if err := m.beginObjects(ctx); err != nil {
			return err
		}
	}
	m.leftover = mine
	return m.to.setMark(ctx, mine)
}

// beginObjects refuses a bucket that holds what the source does not: then it is another's.
func (m *migration) beginObjects(ctx context.Context) error {
	for _, folder := range []blob.Folder{blob.Binaries, blob.Logs, blob.Artifacts} {
		err := m.to.objects.Objects(ctx, folder, func(object blob.Object) error {
			content, _, err := m.from.objects.OpenObject(ctx, object.Key)
			if errors.Is(err, blob.ErrNotFound) {
				return usage("the bucket of %s holds other programs or outputs already (%s): give an empty one", m.destination, object.Key)
			}
			if err != nil {
				return err
			}
			return content.Close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *migration) move(ctx context.Context) error {
	line := m.statusLine()
	defer line.end()
	if m.objects {
		count, damaged, err := moving.CopyObjects(ctx, movable{m.from.objects}, movable{m.to.objects}, line.tell)
		m.moved.Objects = count
		if err != nil {
			return err
		}
		for _, key := range damaged {
			line.end()
			fmt.Fprintf(m.err, "warning: the program %s was damaged at the source and is damaged here as well\n", key)
		}
	}
	if !m.documents {
		return nil
	}
	saved, last := func(position moving.Position) error {
		m.leftover.Position = position
		return m.to.setMark(ctx, m.leftover)
	}, time.Now()
	count, err := moving.CopyDocuments(ctx, m.from.documents, m.to.documents, m.leftover.Position, func(position moving.Position) error {
		if time.Since(last) < time.Second { // it costs a write
			return nil
		}
		last = time.Now()
		return saved(position)
	}, line.tell)
	m.moved.Documents = count
	if errors.Is(err, moving.ErrChanged) {
		return usage("a server writes to %s: stop all servers, and run the command again", m.source)
	}
	if err != nil {
		return err
	}
	if m.moved.Running, err = m.to.running(ctx); err != nil {
		return err
	}
	if m.moved.Queue, err = m.setQueueAside(); err != nil {
		return err
	}
	if err := m.from.setMark(ctx, &moveMark{Kind: markMoved, Other: m.destination, At: m.now().UTC()}); err != nil {
		return err
	}
	return m.to.setMark(ctx, nil)
}

// setQueueAside puts away what an embedded NATS of the folder holds from before: of the runs that it would start, some
// have ended elsewhere since. What still waits is in the documents, and is queued again.
func (m *migration) setQueueAside() (string, error) {
	if m.to.data == nil {
		return "", nil
	}
	queue := m.to.data.path("nats")
	if _, err := os.Stat(queue); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	aside := queue + ".before-" + m.now().UTC().Format("20060102-150405")
	if err := os.Rename(queue, aside); err != nil {
		return "", fmt.Errorf("put the queue of before aside: %w", err)
	}
	return aside, nil
}

func (m *migration) report() error {
	moved := &m.moved
	switch {
	case moved.Already:
		fmt.Fprintf(m.err, "%s was moved to %s already, on %s: there is nothing to do\n", m.source, m.destination, m.beforehand.At.Local().Format(time.DateTime))
	default:
		fmt.Fprintf(m.err, "moved %d documents and %d objects from %s to %s, and compared them\n", moved.Documents, moved.Objects, m.source, m.destination)
	}
	if moved.Running > 0 {
		fmt.Fprintf(m.err, "%d runs were running when the server ended: unless its queue is used again, they count as lost and are tried again\n", moved.Running)
	}
	if moved.Queue != "" {
		fmt.Fprintf(m.err, "the queue of before is in %s: remove it once the server has started\n", moved.Queue)
	}
	return m.print(moved, func(w io.Writer) {})
}
