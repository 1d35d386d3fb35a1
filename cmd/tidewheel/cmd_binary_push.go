package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

func (c *cli) binaryPushCommand() *cobra.Command {
	var aliases []string
	var anyPlatform bool
	cmd := &cobra.Command{
		Use: "push NAME FILE", Short: "Upload a program",
		Long: `Upload a program: an ELF file, a script that begins with #!, a JAR, or a text whose job names an interpreter. The file -
is standard input. The bytes of the latest version make no new one; those of an earlier version do, so that what was
uploaded last is the latest.`,
		Example: "  tidewheel binary push report ./report.sh --alias stable\n  go build -o - ./cmd/report | tidewheel binary push report -",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := spec.ValidName("binary", args[0]); err != nil {
				return usage("%w", err)
			}
			return c.push(cmd.Context(), args[0], args[1], client.UploadOptions{Aliases: aliases, AnyPlatform: anyPlatform})
		},
	}
	cmd.Flags().StringSliceVar(&aliases, "alias", nil, "move this alias to the new version; may come more than once")
	cmd.Flags().BoolVar(&anyPlatform, "any-platform", false, "accept a program built for another platform")
	return cmd
}

func (c *cli) push(ctx context.Context, name, path string, options client.UploadOptions) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	content, size := c.in, int64(-1)
	if path != "-" {
		file, info, err := openProgram(path)
		if err != nil {
			return err
		}
		defer file.Close()
		// The digest beforehand spares the server a copy, and finds a file that changes while it is sent.
		if options.SHA256, err = c.digest(ctx, file, info); err != nil {
			return err
		}
		content, size = file, info.Size()
	}
	bar := c.progress("upload "+name, size)
	options.Size = max(size, 0)
	uploaded, err := api.UploadBinary(ctx, name, bar.reader(content), options)
	bar.finish(err)
	if err != nil {
		return err
	}
	return c.print(uploaded, func(w io.Writer) {
		made := "is new"
		if uploaded.Existed {
			made = "was there already"
		}
		fmt.Fprintf(w, "%s version %d %s: %s, %s, sha256 %s\n", uploaded.Name, uploaded.Version.N, made,
			kindOf(uploaded.Version), bytesOf(uploaded.Version.Size), uploaded.Version.SHA256)
		if words := aliasWords(uploaded.Aliases); words != "" {
			fmt.Fprintf(w, "Aliases: %s\n", words)
		}
		if uploaded.Version.Kind == "unknown" {
			fmt.Fprintln(w, "It is neither an ELF program, nor a script with #!, nor a JAR: jobs that run it need an interpreter.")
		}
	})
}

// openProgram opens the file to upload, and refuses what cannot be a program. It opens only a regular file: opening a
// pipe would block until another process writes to it.
func openProgram(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil, notAFile(path, info.Mode())
	}
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // it may be a pipe by now
	}
	var fault *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usage("there is no file %s", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, nil, usage("%s cannot be read by this user: change its permissions", path)
	case errors.As(err, &fault):
		return nil, nil, usage("%s cannot be read: %w", path, fault.Err)
	case err != nil:
		return nil, nil, err
	}
	info, err = file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = notAFile(path, info.Mode())
	case info.Size() == 0:
		err = usage("%s is empty: a program has at least one byte", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func notAFile(path string, mode fs.FileMode) error {
	if mode.IsDir() {
		return usage("%s is a folder: upload one file; put many into an archive that your program unpacks", path)
	}
	what := "a device"
	switch {
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return usage("%s is %s and no regular file: give a file, or - to upload what comes on standard input", path, what)
}

// digest hashes a file and goes back to its beginning.
func (c *cli) digest(ctx context.Context, file *os.File, info fs.FileInfo) (string, error) {
	hash := sha256.New()
	bar := c.progress("read "+info.Name(), info.Size())
	_, err := io.Copy(hash, bar.reader(&endingReader{ctx, file}))
	bar.finish(err)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// endingReader ends with its context.
type endingReader struct {
	ctx    context.Context
	reader io.Reader
}

func (r *endingReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.reader.Read(p)
}

func (c *cli) binaryPullCommand() *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use: "pull NAME FILE", Short: "Download a program; the file - is standard output", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.noOutput(cmd, "a program comes as it is"); err != nil {
				return err
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			binary, err := api.Binary(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			chosen, err := chooseVersion(&binary, version)
			if err != nil {
				return err
			}
			content, err := api.DownloadBinary(cmd.Context(), args[0], chosen.N)
			if err != nil {
				return err
			}
			defer content.Close()
			if args[1] == "-" {
				_, err := io.Copy(c.out, content)
				return err
			}
			if err := c.save(args[1], "download "+args[0], chosen.Size, content); err != nil {
				return err
			}
			return os.Chmod(args[1], 0o755) //nolint:gosec // a program that was fetched is to be run
		},
	}
	cmd.Flags().IntVar(&version, "version", 0, "which version (default the latest)")
	return cmd
}

func chooseVersion(binary *wire.Binary, n int) (wire.BinaryVersion, error) {
	for i := len(binary.Versions) - 1; i >= 0; i-- {
		if n == 0 || binary.Versions[i].N == n {
			return binary.Versions[i], nil
		}
	}
	return wire.BinaryVersion{}, &refusedError{fmt.Sprintf("binary %q has no version %d", binary.Name, n)}
}
