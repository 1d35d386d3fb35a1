package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/secret"
)

func (c *cli) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup into an empty data folder or database",
		Long: `Restore a backup into an empty place, where a server then continues: a data folder (--data, default ` + defaultData + `), or a
database and a bucket (--mongodb-uri and --s3-endpoint). No server may run there meanwhile.

The file is read to its end first: of one that is damaged or cut off nothing is restored. A place that was not filled to its
end is refused by servers; repeat the same call to resume it.

A server that starts there continues from the moment of the backup. What ran then counts as lost: it is tried again, or has
ended where the job is delivered at most once. So does what was queued, if the backup was made while the server ran, because
it may have begun since.`,
		Example: "  tidewheel restore tidewheel.backup --data /var/lib/tidewheel\n" +
			"  tidewheel restore tidewheel.backup --mongodb-uri mongodb://db/tidewheel --s3-endpoint https://s3.example.com",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.noOutput(cmd, "restore reports in words what it does"); err != nil {
				return err
			}
			config, err := placeOf(cmd.Flags(), ownPlace)
			if err != nil {
				return err
			}
			if !config.named() {
				config.data = defaultData
			}
			if config.data == "" && (config.mongoURI == "" || config.s3.Endpoint == "") {
				return usage("say where all of it goes: --mongodb-uri and --s3-endpoint belong together, unless --data names a folder for what they do not take")
			}
			return c.restore(cmd.Context(), args[0], config)
		},
	}
	placeFlags(cmd.Flags(), ownPlace, "to restore to")
	cmd.Flags().SortFlags = false
	return cmd
}

func (c *cli) restore(ctx context.Context, path string, config placeConfig) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return usage("%s cannot be read: %w", path, errors.Unwrap(err))
	}
	defer file.Close()
	header, manifest, err := c.verifyBackup(ctx, file)
	if err != nil {
		return explainBackup(path, err)
	}
	fresh := false // whatever is there afterwards was made here
	if config.data != "" {
		if fresh, err = unused(config.data); err != nil {
			return err
		}
		if err := roomFor(config.data, manifest); err != nil {
			return err
		}
	}
	p, err := openPlace(ctx, config, c.quietLog())
	if err != nil {
		if fresh {
			err = errors.Join(err, makeUnused(config.data))
		}
		return err
	}
	err = c.restoreTo(ctx, p, file, path, manifest)
	err = errors.Join(err, p.close(ctx))
	if err != nil {
		if fresh { // as if nothing had been
			err = errors.Join(err, makeUnused(config.data))
		}
		if errors.Is(err, engine.ErrFull) || errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk became full: free some space, or restore to another place: %w", err)
		}
		return err
	}
	fmt.Fprintf(c.err, "restored %d documents and %d objects, as they were at %s, to %s\n",
		manifest.Documents(), manifest.Objects(), header.CreatedAt.Local().Format("2006-01-02 15:04:05"), config.name())
	return c.printManifest(manifest)
}

func (c *cli) restoreTo(ctx context.Context, p *place, file *os.File, path string, manifest *moving.Manifest) error {
	mine := &moveMark{Kind: markRestore, Other: identity(manifest), At: c.now().UTC()}
	found, err := p.mark(ctx)
	switch {
	case err != nil:
		return err
	case found == nil:
		if err := p.wantEmpty(ctx); err != nil {
			return err
		}
	case !found.sameMove(mine):
		return usage("%s holds something that was not moved to its end (%s, %s): restore to an empty place", p.config.name(), found.Kind, found.At.Local().Format("2006-01-02 15:04:05"))
	}
	if err := p.wantAtRest(ctx); err != nil {
		return err
	}
	if err := p.setMark(ctx, mine); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s again: %w", path, err)
	}
	target := moving.Target{Documents: p.documents, Objects: movable{p.objects}}
	if p.data != nil {
		target.Key = func(name string, content []byte) error {
			if !slices.Contains(keyFiles, name) {
				return nil // of a part that this version does not have
			}
			return writeFile(p.data.path(name), content, 0o600)
		}
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read %s again: %w", path, err)
	}
	bar := c.progress("restoring", info.Size())
	_, err = moving.Restore(ctx, bar.reader(file), target, nil)
	bar.finish(err)
	if err != nil {
		return explainBackup(path, err)
	}
	if err := p.setMark(ctx, nil); err != nil {
		return err
	}
	return c.missSecretsKey(ctx, p)
}

// missSecretsKey says of a place that holds secrets and not their key what is lost, and what to do.
func (c *cli) missSecretsKey(ctx context.Context, p *place) error {
	if p.documents == nil {
		return nil
	}
	kept, err := secret.NewVault(p.documents, nil, c.now).Kept(ctx)
	if err != nil || !kept {
		return err
	}
	where := "give it to the nodes by --secrets-key-file"
	if p.data != nil {
		if _, err := os.Stat(p.data.path(secretsKeyFile)); err == nil {
			return nil
		}
		where = "put it as " + secretsKeyFile + " into the data folder, or give it by --secrets-key-file"
	}
	fmt.Fprintf(c.err, "the backup holds secrets, and not the key that they are sealed for: %s. If it is lost, so are their values: delete the secrets and set them again\n", where)
	return nil
}

// identity returns a text that differs between any two backups.
func identity(manifest *moving.Manifest) string {
	text, err := json.Marshal(manifest)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("backup %x", sha256.Sum256(text))
}

// wantEmpty refuses a place that holds something already.
func (p *place) wantEmpty(ctx context.Context) error {
	if p.documents != nil {
		empty, err := moving.Empty(ctx, p.documents)
		if err != nil {
			return err
		}
		if !empty {
			return usage("%s holds jobs or history already, and they would be mixed up: give an empty place", p.config.name())
		}
	}
	if p.objects != nil {
		empty, err := p.objects.Empty(ctx)
		if err != nil {
			return err
		}
		if !empty {
			return usage("the bucket of %s holds programs or outputs already: give an empty one", p.config.name())
		}
	}
	return nil
}

// unused reports whether a folder is missing or empty.
func unused(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, explainData(dir, err)
	}
	return len(entries) == 0, nil
}

// makeUnused empties a folder that was.
func makeUnused(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it was not even made
	}
	var errs []error
	for _, entry := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return errors.Join(errs...)
}

// roomFor refuses a disk that cannot hold what a backup holds, before anything is written to it.
func roomFor(dir string, manifest *moving.Manifest) error {
	var need int64 = leastFree
	for _, section := range manifest.Sections {
		need += section.Bytes
	}
	at := filepath.Clean(dir)
	for {
		if _, err := os.Stat(at); err == nil {
			break
		}
		parent := filepath.Dir(at)
		if parent == at {
			return nil
		}
		at = parent
	}
	if free, err := freeSpace(at); err == nil && free < need {
		return usage("--data: the backup needs about %s, and the disk of %s has %s free: make space, or give a folder on another disk", bytesOf(need), dir, bytesOf(free))
	}
	return nil
}
