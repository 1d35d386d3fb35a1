package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/moving"
)

var ownPlace = placeNames{data: "data", mongo: "mongodb-uri", s3: "s3"}

func (c *cli) backupCommand() *cobra.Command {
	var noLogs, noKeys bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Save a server's data to one file",
		Long: `Save everything that a server keeps in one file: definitions with all that they were, runs, waves, the ledger, dead letters,
effects, programs, artifacts, the outputs of runs, and the keys of the server. The file holds secrets, and only its owner may read it.

A running server writes a backup of one moment, and keeps running. With --data the folder of a stopped one is read; with
--mongodb-uri and --s3-endpoint a database and a bucket that all servers have left.

The file appears once it is whole and was read again; an interrupted backup leaves none, and does not change an earlier file.`,
		Example: "  tidewheel backup tidewheel.backup\n  tidewheel backup tidewheel.backup --data /var/lib/tidewheel\n" +
			"  tidewheel backup tidewheel.backup --mongodb-uri mongodb://db/tidewheel --s3-endpoint https://s3.example.com",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := placeOf(cmd.Flags(), ownPlace)
			if err != nil {
				return err
			}
			return c.backup(cmd.Context(), args[0], config, noLogs, noKeys)
		},
	}
	placeFlags(cmd.Flags(), ownPlace, "of a stopped server")
	cmd.Flags().BoolVar(&noLogs, "no-logs", false, "leave out the outputs of runs, beyond their last 4 KiB")
	cmd.Flags().BoolVar(&noKeys, "no-keys", false, "leave out the server's token and the keys of its parts")
	cmd.Flags().SortFlags = false
	return cmd
}

func (c *cli) backup(ctx context.Context, path string, config placeConfig, noLogs, noKeys bool) error {
	write := func(to io.Writer) error { return c.downloadBackup(ctx, to, noLogs, noKeys) }
	if config.named() {
		if config.data == "" && (config.mongoURI == "" || config.s3.Endpoint == "") {
			return usage("say where all of it is: --mongodb-uri and --s3-endpoint belong together, unless --data names the folder that holds what they do not")
		}
		write = func(to io.Writer) error { return c.backupPlace(ctx, to, config, noLogs, noKeys) }
	}
	var manifest *moving.Manifest
	err := writeWhole(path, func(file *os.File) (err error) {
		if err := write(file); err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, manifest, err = c.verifyBackup(ctx, file); isBackupFault(err) {
			return fmt.Errorf("what was written is no whole backup (%w), so nothing is kept: run the command again, and see the server's log if it fails again", err)
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "%s holds %d documents and %d objects\n", path, manifest.Documents(), manifest.Objects())
	return c.printManifest(manifest)
}

// backupResult is the result of a backup, as programs read it.
type backupResult struct {
	Documents int64            `json:"documents"`
	Objects   int64            `json:"objects"`
	Sections  []moving.Section `json:"sections"`
	Warnings  []string         `json:"warnings,omitempty"`
}

func (c *cli) printManifest(manifest *moving.Manifest) error {
	for _, warning := range manifest.Warnings {
		fmt.Fprintln(c.err, "warning: "+warning)
	}
	result := backupResult{manifest.Documents(), manifest.Objects(), manifest.Sections, manifest.Warnings}
	return c.print(result, func(w io.Writer) {
		t := newTable(w, "WHAT", "COUNT", "BYTES", "SHA256")
		for _, s := range manifest.Sections {
			t.row(s.Name, s.Count, s.Bytes, s.SHA256)
		}
		t.flush()
	})
}

// writeWhole makes a file that appears when all of it is on the disk, and that only its owner can read.
func writeWhole(path string, write func(*os.File) error) (err error) {
	if path == "" {
		return usage("name the file to write")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return usage("%s is there and is no file: name another", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), temporaryPrefix+"*")
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return usage("%s cannot be written: %w", path, err)
	}
	defer os.Remove(file.Name())
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	return explainWrite(path, file.Name(), err)
}

// explainWrite says in plain words why a file could not be written; other errors pass. temporary is what it was until
// it was whole.
func explainWrite(path, temporary string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of %s is full: free some space there, or name a file on another disk", path)
	case errors.Is(err, syscall.EFBIG):
		return usage("%s cannot be written: this user or disk allows no file as large: name a file on another disk, or raise the limit (ulimit -f)", path)
	case errors.As(err, &at) && at.Path == temporary:
		return usage("%s cannot be written: %w: name another file", path, at.Err)
	case errors.As(err, &link) && link.Old == temporary:
		return usage("%s cannot be written: %w: name another file", path, link.Err)
	}
	return err
}

// downloadBackup asks a running server.
func (c *cli) downloadBackup(ctx context.Context, to io.Writer, noLogs, noKeys bool) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	content, err := api.DownloadBackup(ctx, client.BackupOptions{NoLogs: noLogs, NoKeys: noKeys})
	if err != nil {
		return err
	}
	defer content.Close()
	bar := c.progress("backup", -1)
	_, err = io.Copy(to, bar.reader(content))
	bar.finish(err)
	if errors.Is(err, client.ErrUnreachable) {
		return fmt.Errorf("the server broke the backup off; its log says why: %w", err)
	}
	return err
}

// backupPlace reads what a stopped server has left.
func (c *cli) backupPlace(ctx context.Context, to io.Writer, config placeConfig, noLogs, noKeys bool) (err error) {
	if config.data != "" {
		if _, err := os.Stat(filepath.Join(config.data, markFile)); err != nil {
			return usage("--data: %s is no data folder of Tidewheel", config.data)
		}
	}
	p, err := openPlace(ctx, config, c.quietLog())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close(ctx)) }()
	if err := refuseMoved(ctx, p.mongo, p.data); err != nil {
		return err
	}
	if err := p.wantAtRest(ctx); err != nil {
		return err
	}
	contents := moving.Contents{
		Header:    moving.Header{Tidewheel: version, CreatedAt: c.now().UTC(), Logs: !noLogs},
		Documents: p.documents, Objects: movable{p.objects}, NoSecrets: noKeys, Watch: p.mongo != nil,
	}
	if p.data != nil && !noKeys {
		if contents.Keys, err = p.data.readKeys(); err != nil {
			return err
		}
	}
	line := c.statusLine()
	_, err = moving.Write(ctx, to, contents, line.tell)
	line.end()
	if errors.Is(err, moving.ErrChanged) {
		return usage("a server writes to the database: stop all servers, and make the backup then")
	}
	return err
}

// verifyBackup reads a backup to its end.
func (c *cli) verifyBackup(ctx context.Context, file *os.File) (*moving.Header, *moving.Manifest, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	bar := c.progress("verifying", info.Size())
	header, manifest, err := moving.Verify(ctx, bar.reader(file), nil)
	bar.finish(err)
	return header, manifest, err
}

// isBackupFault reports whether an error is one of what stands in a backup.
func isBackupFault(err error) bool {
	var newer *moving.NewerError
	var broken *moving.DamagedError
	return errors.Is(err, moving.ErrNotBackup) || errors.Is(err, moving.ErrCutOff) || errors.As(err, &newer) || errors.As(err, &broken)
}

// explainBackup returns an error of reading a backup as an input error.
func explainBackup(name string, err error) error {
	if isBackupFault(err) {
		return usage("%s: %w", name, err)
	}
	return err
}

// quietLog returns a logger that writes errors only.
func (c *cli) quietLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelError}))
}

// statusLine shows progress at a terminal.
type statusLine struct {
	out  io.Writer // nil if the output is no terminal
	last time.Time
}

func (c *cli) statusLine() *statusLine {
	if file, ok := c.err.(*os.File); ok && isTerminal(file) {
		return &statusLine{out: c.err}
	}
	return &statusLine{}
}

func (l *statusLine) tell(doing string, done int64) {
	if l.out != nil && time.Since(l.last) > 120*time.Millisecond {
		l.last = time.Now()
		fmt.Fprintf(l.out, "\r\x1b[K%s: %d", doing, done)
	}
}

func (l *statusLine) end() {
	if l.out != nil {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}
