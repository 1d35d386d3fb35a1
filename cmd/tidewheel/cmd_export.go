package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

// exported is one definition as a file.
type exported struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Text string `json:"text"`
}

func (c *cli) exportCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "export [-f DIR]", Short: "Export the definitions of all jobs and DAGs as files for apply",
		Long: `Write the definitions of all jobs and DAGs of the namespace, as files that ` + "`tidewheel apply`" + ` takes: to standard output, or
to a folder, each in a file of its own. Existing files are overwritten, others stay.`,
		Example: "  tidewheel export > all.yaml\n  tidewheel export -f definitions/",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder != "" {
				if err := c.noOutput(cmd, "the files of --file are YAML"); err != nil {
					return err
				}
			}
			all, err := c.export(cmd.Context())
			if err != nil {
				return err
			}
			if folder != "" {
				return c.exportTo(folder, all)
			}
			return c.printList(all, "", func(w io.Writer) {
				for i, one := range all {
					if i > 0 {
						fmt.Fprintln(w, "---")
					}
					fmt.Fprint(w, one.Text)
				}
			})
		},
	}
	cmd.Flags().StringVarP(&folder, "file", "f", "", "folder to write to")
	return cmd
}

func (c *cli) export(ctx context.Context) ([]exported, error) {
	api, err := c.client()
	if err != nil {
		return nil, err
	}
	jobs, err := exportAll(ctx, spec.KindJob, api.Jobs, api.Job,
		func(job *wire.Job) string { return job.Name },
		func(job *wire.Job) ([]byte, error) { return spec.Text(&job.Spec, job.Source) })
	if err != nil {
		return nil, err
	}
	dags, err := exportAll(ctx, spec.KindDAG, api.DAGs, api.DAG,
		func(dag *wire.DAG) string { return dag.Name },
		func(dag *wire.DAG) ([]byte, error) { return spec.TextDAG(&dag.Spec, dag.Source) })
	return append(jobs, dags...), err
}

// exportAll exports all definitions of a kind.
func exportAll[V any](
	ctx context.Context, kind string, list func(context.Context, client.DefinitionFilter) (wire.List[V], error),
	read func(ctx context.Context, name string) (V, error), nameOf func(*V) string, textOf func(*V) ([]byte, error),
) ([]exported, error) {
	listed, _, err := collect(0, func(page client.Page) (wire.List[V], error) { return list(ctx, client.DefinitionFilter{Page: page}) })
	if err != nil {
		return nil, err
	}
	all := make([]exported, 0, len(listed))
	for i := range listed {
		name := nameOf(&listed[i])
		one, err := read(ctx, name) // lists have no source
		if problem, refused := errors.AsType[*client.APIError](err); refused && problem.Status == http.StatusNotFound {
			continue // it was deleted since
		}
		if err != nil {
			return nil, err
		}
		text, err := textOf(&one)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", kind, name, err)
		}
		all = append(all, exported{kind, name, string(endLine(text))})
	}
	return all, nil
}

func (c *cli) exportTo(folder string, all []exported) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // what a user fetches has the modes of their umask
		return usage("-f %s: %w", folder, err)
	}
	for _, one := range all {
		path := filepath.Join(folder, one.Name+".yaml")
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, []byte(one.Text)) {
			continue
		}
		if err := os.WriteFile(path, []byte(one.Text), 0o644); err != nil { //nolint:gosec // definitions hold no secrets
			return usage("-f %s: %w", folder, err)
		}
		fmt.Fprintln(c.err, path)
	}
	return nil
}
