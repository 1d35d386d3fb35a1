package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

// defaultLimit is how many entries of a list are shown by default.
const defaultLimit = 50

// getFlags are the filters of `tidewheel get`.
type getFlags struct {
	statuses                                              []string
	job, dag, task, tier, user, text, label, since, until string
	order                                                 string
	limit                                                 int
}

// getKinds are what `tidewheel get` lists, with what else they are called.
var getKinds = []struct {
	name    string
	aliases []string
}{
	{"jobs", []string{"job", "j"}},
	{"dags", []string{"dag", "d"}},
	{"runs", []string{"run", "r"}},
	{"waves", []string{"wave", "w"}},
	{"binaries", []string{"binary", "bin", "b"}},
	{"executors", []string{"executor", "ex"}},
	{"engines", []string{"engine", "en"}},
	{"queues", []string{"queue", "q"}},
	{"dead-letters", []string{"dead-letter", "deadletters", "dlq"}},
}

func (c *cli) getCommand() *cobra.Command {
	var flags getFlags
	kinds := make([]string, len(getKinds))
	for i := range getKinds {
		kinds[i] = getKinds[i].name
	}
	cmd := &cobra.Command{
		Use:   "get " + strings.Join(kinds, "|") + " [NAME]",
		Short: "List jobs, DAGs, runs, waves, programs, executors, engines, queues or dead letters",
		Example: `  tidewheel get jobs
  tidewheel get jobs --status failing
  tidewheel get jobs --label team=finance --order next
  tidewheel get runs --job nightly-report --status failed,dead --since 24h
  tidewheel get waves --dag etl --status failed
  tidewheel get job nightly-report -o yaml > nightly-report.yaml
  tidewheel get run h5zq3x7rk2mnp4ab-s1767229200000 -o json`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completeKinds(kinds),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.limit < 1 {
				return usage("--limit %d: ask for at least 1", flags.limit)
			}
			kind, err := getKind(args[0])
			if err != nil {
				return err
			}
			if err := checkFilters(cmd, kind, len(args) == 2); err != nil {
				return err
			}
			if len(args) == 2 {
				return c.getOne(cmd.Context(), kind, args[1])
			}
			return c.getList(cmd.Context(), kind, flags)
		},
	}
	cmd.Flags().StringSliceVar(&flags.statuses, "status", nil, "runs or waves with one of these statuses; jobs that are paused, failing or late; DAGs that are paused, failing or running")
	cmd.Flags().StringVar(&flags.job, "job", "", "runs or dead letters of this job")
	cmd.Flags().StringVar(&flags.dag, "dag", "", "runs or waves of this DAG")
	cmd.Flags().StringVar(&flags.task, "task", "", "with --dag: runs of this task")
	cmd.Flags().StringVar(&flags.label, "label", "", "jobs or DAGs with this label: key or key=value")
	cmd.Flags().StringVar(&flags.order, "order", "", "jobs or DAGs by name, next (slot), last (run) or failures (default name)")
	cmd.Flags().StringVar(&flags.tier, "tier", "", "jobs or runs of this tier")
	cmd.Flags().StringVar(&flags.user, "by", "", "runs triggered by this user")
	cmd.Flags().StringVarP(&flags.text, "search", "q", "", "jobs, DAGs or runs with this text in the name")
	cmd.Flags().StringVar(&flags.since, "since", "", "runs or waves made since then: 24h, 7d or a time")
	cmd.Flags().StringVar(&flags.until, "until", "", "runs or waves made before then: 24h, 7d or a time")
	cmd.Flags().IntVar(&flags.limit, "limit", defaultLimit, "how many at most")
	c.completeFlag(cmd, "job", namedJob)
	c.completeFlag(cmd, "dag", namedDAG)
	_ = cmd.RegisterFlagCompletionFunc("status", completeStatuses)
	_ = cmd.RegisterFlagCompletionFunc("order", cobra.FixedCompletions(definitionOrders, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("tier", cobra.FixedCompletions([]string{"light", "medium", "heavy"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func getKind(word string) (string, error) {
	for _, kind := range getKinds {
		if word == kind.name || slices.Contains(kind.aliases, word) {
			return kind.name, nil
		}
	}
	var names []string
	for _, kind := range getKinds {
		names = append(names, kind.name)
	}
	similar := ""
	if near := nearest(word, names); near != "" {
		similar = "did you mean " + near + "? "
	}
	return "", usage("%q cannot be listed: %sThere are %s", word, similar, strings.Join(names, ", "))
}

func (c *cli) getList(ctx context.Context, kind string, flags getFlags) error {
	switch kind {
	case "runs":
		return c.listRuns(ctx, flags)
	case "waves":
		return c.listWaves(ctx, flags)
	case "binaries":
		return c.listBinaries(ctx, flags.limit)
	case "dead-letters":
		return c.listDeadLetters(ctx, flags.job, flags.limit)
	}
	state, err := flags.definitionState(kind)
	if err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	if flags.order != "" && !slices.Contains(definitionOrders, flags.order) {
		return usage("--order: %q is no order: use one of %v", flags.order, definitionOrders)
	}
	filter := client.DefinitionFilter{Text: flags.text, Label: flags.label, State: state, Tier: flags.tier, Order: flags.order}
	narrowed := filter != client.DefinitionFilter{}
	switch kind {
	case "jobs":
		return listAll(c, flags.limit, func(page client.Page) (wire.List[wire.Job], error) {
			filter.Page = page
			return api.Jobs(ctx, filter)
		}, func(w io.Writer, jobs []wire.Job) { c.tableOfJobs(w, jobs, narrowed) })
	case "dags":
		return listAll(c, flags.limit, func(page client.Page) (wire.List[wire.DAG], error) {
			filter.Page = page
			return api.DAGs(ctx, filter)
		}, func(w io.Writer, dags []wire.DAG) { c.tableOfDAGs(w, dags, narrowed) })
	case "executors":
		executors, err := api.Executors(ctx)
		if err != nil {
			return err
		}
		return c.printList(executors, "", func(w io.Writer) { c.tableOfExecutors(w, executors) })
	case "engines":
		engines, err := api.Engines(ctx)
		if err != nil {
			return err
		}
		return c.printList(engines, "", func(w io.Writer) { c.tableOfEngines(w, engines) })
	default:
		queues, err := api.Queues(ctx)
		if err != nil {
			return err
		}
		return c.printList(queues, "", func(w io.Writer) { c.tableOfQueues(w, queues) })
	}
}

func (c *cli) listRuns(ctx context.Context, flags getFlags) error {
	if err := flags.runStatuses(); err != nil {
		return err
	}
	since, until, err := flags.span(c.now())
	if err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	runs, next, err := collect(flags.limit, func(page client.Page) (wire.List[wire.Run], error) {
		return api.Runs(ctx, client.RunFilter{
			Job: flags.job, DAG: flags.dag, Task: flags.task, Statuses: flags.statuses, Tier: flags.tier, By: flags.user, Since: since, Until: until,
			Text: flags.text, Page: page,
		})
	})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		if err := c.explainNoRuns(ctx, api, flags); err != nil {
			return err
		}
	}
	return c.printList(runs, next, func(w io.Writer) { c.tableOfRuns(w, runs) })
}

func (c *cli) listWaves(ctx context.Context, flags getFlags) error {
	if err := flags.runStatuses(); err != nil {
		return err
	}
	since, until, err := flags.span(c.now())
	if err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	waves, next, err := collect(flags.limit, func(page client.Page) (wire.List[wire.Wave], error) {
		return api.Waves(ctx, client.WaveFilter{DAG: flags.dag, Statuses: flags.statuses, Since: since, Until: until, Page: page})
	})
	if err != nil && !absent(err) {
		return err
	}
	if len(waves) == 0 {
		if err := c.explainNoRuns(ctx, api, getFlags{dag: flags.dag}); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return c.printList(waves, next, func(w io.Writer) { c.tableOfWaves(w, waves) })
}

func (c *cli) listBinaries(ctx context.Context, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return listAll(c, limit, func(page client.Page) (wire.List[wire.Binary], error) { return api.Binaries(ctx, page) }, c.tableOfBinaries)
}

func (c *cli) listDeadLetters(ctx context.Context, job string, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	letters, next, err := collect(limit, func(page client.Page) (wire.List[wire.DeadLetter], error) {
		return api.DeadLetters(ctx, client.DeadLetterFilter{Job: job, Page: page})
	})
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		if err := c.explainNoLetters(ctx, api, job); err != nil {
			return err
		}
	}
	return c.printList(letters, next, func(w io.Writer) { c.tableOfDeadLetters(w, letters) })
}

func (c *cli) getOne(ctx context.Context, kind, name string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	switch kind {
	case "jobs":
		job, err := api.Job(ctx, name)
		if err != nil {
			return err
		}
		if c.output == "yaml" {
			return c.printDefinition(spec.Text(&job.Spec, job.Source))
		}
		return c.print(job, func(w io.Writer) { c.tableOfJobs(w, []wire.Job{job}, false) })
	case "dags":
		dag, err := api.DAG(ctx, name)
		if err != nil {
			return err
		}
		if c.output == "yaml" {
			return c.printDefinition(spec.TextDAG(&dag.Spec, dag.Source))
		}
		return c.print(dag, func(w io.Writer) { c.tableOfDAGs(w, []wire.DAG{dag}, false) })
	case "waves":
		if name, err = c.waveID(ctx, api, name); err != nil {
			return err
		}
		wave, err := api.Wave(ctx, name)
		if err != nil {
			return err
		}
		return c.print(wave, func(w io.Writer) { c.tableOfWaves(w, []wire.Wave{wave.Wave}) })
	case "runs":
		if name, err = c.runID(ctx, api, name); err != nil {
			return err
		}
		run, err := api.Run(ctx, name)
		if err != nil {
			return err
		}
		return c.print(run, func(w io.Writer) { c.tableOfRuns(w, []wire.Run{run}) })
	case "binaries":
		binary, err := api.Binary(ctx, name)
		if err != nil {
			return err
		}
		return c.print(binary, func(w io.Writer) { c.tableOfBinaries(w, []wire.Binary{binary}) })
	case "executors":
		executors, err := api.Executors(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(executors, func(e wire.Executor) bool { return e.ID == name })
		if i < 0 {
			return &refusedError{fmt.Sprintf("there is no executor %q", name)}
		}
		return c.print(executors[i], func(w io.Writer) { c.tableOfExecutors(w, executors[i:i+1]) })
	}
	if kind == "engines" {
		return c.getEngine(ctx, api, name)
	}
	return usage("%s have no names: use `tidewheel get %s`", kind, kind)
}

// printDefinition writes a definition that apply takes, as its user wrote it. What else is known of it is in -o json.
func (c *cli) printDefinition(text []byte, err error) error {
	if err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	_, err = c.out.Write(endLine(text))
	return err
}

// endLine ends the last line of a text, so that another document can follow.
func endLine(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(text, '\n')
	}
	return text
}

// pageSize is how many entries are asked for at one time.
const pageSize = 200

// collect reads pages until there are limit entries (0: all), and returns the cursor of what is left.
func collect[T any](limit int, page func(client.Page) (wire.List[T], error)) (items []T, next string, err error) {
	items = []T{}
	for {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-len(items))
		}
		list, err := page(client.Page{Cursor: next, Limit: size})
		if err != nil {
			return nil, "", err
		}
		items = append(items, list.Items...)
		next = list.Next
		if next == "" || (limit > 0 && len(items) >= limit) {
			return items, next, nil
		}
	}
}

// listAll prints the whole of a list, or its first entries.
func listAll[T any](c *cli, limit int, page func(client.Page) (wire.List[T], error), table func(io.Writer, []T)) error {
	items, next, err := collect(limit, page)
	if err != nil {
		return err
	}
	return c.printList(items, next, func(w io.Writer) { table(w, items) })
}

// printList prints a list as the API would give it, or as a table that says when there is more.
func (c *cli) printList(items any, next string, table func(io.Writer)) error {
	return c.print(struct {
		Items any    `json:"items"`
		Next  string `json:"next"`
	}{items, next}, func(w io.Writer) {
		table(w)
		if next != "" {
			fmt.Fprintln(c.err, "There are more: --limit shows them.")
		}
	})
}
