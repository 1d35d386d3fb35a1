package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) artifactsCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "artifacts RUN [NAME]", Short: "List or download the artifacts of a run",
		Long: `List the files that a run has left in $TIDEWHEEL_ARTIFACTS. With the name of one, write it to standard output; with a
folder, write that one or all of them below it.`,
		Example: "  tidewheel artifacts h5zq3x7rk2mnp4ab-s1767229200000\n  tidewheel artifacts h5zq3x7rk2mnp4ab-s1767229200000 totals.csv > totals.csv\n" +
			"  tidewheel artifacts h5zq3x7rk2mnp4ab-s1767229200000 -d out",
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: c.complete(1, namedRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" || len(args) == 2 {
				if err := c.noOutput(cmd, "a file comes as it is"); err != nil {
					return err
				}
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			if args[0], err = c.runID(cmd.Context(), api, args[0]); err != nil {
				return err
			}
			switch {
			case len(args) == 2 && dir == "":
				return c.copyArtifact(cmd.Context(), api, args[0], args[1])
			case len(args) == 2:
				return c.saveArtifact(cmd.Context(), api, args[0], args[1], dir)
			}
			list, err := api.Artifacts(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dir == "" {
				return c.print(list, func(w io.Writer) { tableOfArtifacts(w, list.Items) })
			}
			for _, artifact := range list.Items {
				if err := c.saveArtifact(cmd.Context(), api, args[0], artifact.Name, dir); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&dir, "dir", "d", "", "write files below this folder")
	return cmd
}

func (c *cli) copyArtifact(ctx context.Context, api *client.Client, run, name string) error {
	content, err := api.DownloadArtifact(ctx, run, name)
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(c.out, content)
	return err
}

// saveArtifact writes a file below a folder. Its name comes from a program, and must not lead out of there.
func (c *cli) saveArtifact(ctx context.Context, api *client.Client, run, name, dir string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return &refusedError{fmt.Sprintf("the name %q leads out of the folder: write that file to standard output", name)}
	}
	content, err := api.DownloadArtifact(ctx, run, name)
	if err != nil {
		return err
	}
	defer content.Close()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // what a user fetches has the modes of their umask
		return usage("%s cannot be written: %w", path, err)
	}
	return c.save(path, "download "+name, content.Size, content)
}

func tableOfArtifacts(w io.Writer, artifacts []wire.Artifact) {
	if len(artifacts) == 0 {
		fmt.Fprintln(w, "The run has no artifacts.")
		return
	}
	t := newTable(w, "NAME", "SIZE", "SHA256")
	for i := range artifacts {
		t.row(printable(artifacts[i].Name), bytesOf(artifacts[i].Size), artifacts[i].SHA256)
	}
	t.flush()
}
