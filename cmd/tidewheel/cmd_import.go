package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/importer"
	"github.com/tidewheel/tidewheel/spec"
)

// imported is what import says with -o json.
type imported struct {
	Items []importedDocument `json:"items"`
	Notes []importer.Note    `json:"notes"`
}

type importedDocument struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	YAML string `json:"yaml"`
}

func (c *cli) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import crontab|dagu|kubernetes|argo|airflow FILE",
		Short: "Turn definitions of other schedulers into Tidewheel's",
		Long: `Turn definitions of other schedulers into Tidewheel's: crontabs, Kubernetes CronJobs, Argo CronWorkflows, DAGs of dagu and
of Airflow's BashOperators. The YAML goes to standard output, and what did not map to standard error, as FILE:LINE: message. Nothing
is run or sent anywhere. Commands become arguments of one small program; the last message says how to upload it.`,
		Example: "  crontab -l | tidewheel import crontab - > jobs.yaml\n  tidewheel import crontab --system /etc/crontab\n  tidewheel import airflow dags/nightly.py | tidewheel apply -f -",
	}
	type format struct {
		name, short string
		read        func(text, name string) (importer.Result, error)
	}
	system := false
	for _, f := range []format{
		{"crontab", "Jobs of a crontab", func(text, _ string) (importer.Result, error) { return importer.Crontab(text, system), nil }},
		{"dagu", "A DAG of dagu", importer.Dagu},
		{"kubernetes", "Jobs of Kubernetes' CronJobs", func(text, _ string) (importer.Result, error) { return importer.Kubernetes(text) }},
		{"argo", "DAGs of Argo's CronWorkflows and Workflows", func(text, _ string) (importer.Result, error) { return importer.Argo(text) }},
		{"airflow", "DAGs of Airflow, as far as they are BashOperators", func(text, _ string) (importer.Result, error) { return importer.Airflow(text) }},
	} {
		sub := &cobra.Command{
			Use: f.name + " FILE", Short: f.short, Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return c.importFile(args[0], f.read) },
		}
		if f.name == "crontab" {
			sub.Flags().BoolVar(&system, "system", false, "the form of /etc/crontab and /etc/cron.d, with a user before the command")
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

func (c *cli) importFile(path string, read func(text, name string) (importer.Result, error)) error {
	files, err := c.readSources([]string{path})
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return usage("%s is a folder: name one file", path)
	}
	file := files[0]
	result, err := read(string(file.Text), strings.TrimSuffix(filepath.Base(file.Name), filepath.Ext(file.Name)))
	if err != nil {
		return usage("%s: %w", file.Name, err)
	}
	said := imported{Items: []importedDocument{}, Notes: append([]importer.Note{}, result.Notes...)}
	for _, document := range result.Documents {
		text, err := encodeDocument(document)
		if err != nil {
			return err
		}
		said.Items = append(said.Items, importedDocument{document.Kind(), document.Name(), string(text)})
	}
	for _, note := range result.Notes {
		place := file.Name
		if note.Line > 0 {
			place = fmt.Sprintf("%s:%d", place, note.Line)
		}
		fmt.Fprintf(c.err, "%s: %s\n", place, note.Text)
	}
	if len(said.Items) == 0 {
		return usage("%s: nothing in it could be taken over", file.Name)
	}
	return c.print(said, func(w io.Writer) {
		for i, item := range said.Items {
			if i > 0 {
				fmt.Fprintln(w, "---")
			}
			fmt.Fprint(w, item.YAML)
		}
	})
}

func encodeDocument(document spec.Document) ([]byte, error) {
	if document.DAG != nil {
		return spec.EncodeDAG(document.DAG)
	}
	return spec.Encode(document.Job)
}
