package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// validation is what validate says with -o json.
type validation struct {
	Items  []wire.ValidatedDocument `json:"items"`
	Errors []spec.Problem           `json:"errors"`
}

func (c *cli) validateCommand() *cobra.Command {
	var paths []string
	cmd := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check definitions without a server",
		Long: `Check definitions without a server. Every fault is printed as file:line:column: message, and the exit status is 2 if
there is one. Whether a binary exists is known to the server alone: see ` + "`tidewheel apply --dry-run`.",
		Example: "  tidewheel validate -f jobs.yaml\n  tidewheel validate -f jobs/\n  cat jobs.yaml | tidewheel validate -f -",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := c.readSources(append(paths, args...))
			if err != nil {
				return err
			}
			return c.validate(files)
		},
	}
	cmd.Flags().StringArrayVarP(&paths, "file", "f", nil, "file or folder to check, - for standard input")
	return cmd
}

func (c *cli) validate(files []sourceFile) error {
	result := validation{Items: []wire.ValidatedDocument{}, Errors: []spec.Problem{}}
	names := map[string]spec.Document{}
	for _, file := range files {
		documents, problems := spec.Decode(file.Name, file.Text)
		result.Errors = append(result.Errors, problems...)
		for _, document := range documents {
			if first, repeated := names[document.Name()]; repeated && first.File != document.File {
				result.Errors = append(result.Errors, spec.Problem{File: document.File, Line: document.Line, Column: 1, Path: "name",
					Message: fmt.Sprintf("name %q is taken by the %s in %s:%d: jobs and DAGs share their names", document.Name(), first.Kind(), first.File, first.Line)})
				continue
			}
			names[document.Name()] = document
			if document.DAG != nil {
				result.Items = append(result.Items, wire.ValidatedDocument{
					Kind: document.Kind(), Name: document.Name(), Schedule: document.DAG.Summary(), File: document.File, Line: document.Line,
				})
				continue
			}
			job := document.Job
			schedule, err := cron.Compile(job.Definition(engine.DefaultNamespace+"/"+job.Name, c.now().Truncate(time.Second)))
			if err != nil {
				result.Errors = append(result.Errors, spec.Problem{File: document.File, Line: document.Line, Column: 1, Message: err.Error()})
				continue
			}
			result.Items = append(result.Items, wire.ValidatedDocument{
				Kind: job.Kind, Name: job.Name, Schedule: schedule.Describe(), File: document.File, Line: document.Line,
			})
		}
	}
	err := c.print(result, func(w io.Writer) {
		for _, item := range result.Items {
			fmt.Fprintf(w, "%s:%d: %s %s is good: %s\n", item.File, item.Line, item.Kind, item.Name, item.Schedule)
		}
	})
	if err != nil || len(result.Errors) == 0 {
		return err
	}
	if c.output == "table" {
		for _, problem := range result.Errors {
			fmt.Fprintln(c.err, problem.Error())
		}
	}
	return &refusedError{fmt.Sprintf("%s found", count(len(result.Errors), "fault"))}
}

// count returns a number with its noun: "1 fault", "2 faults".
func count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
