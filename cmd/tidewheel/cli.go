package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/certs"
)

// defaultURL is where `tidewheel server` listens by default.
const defaultURL = "http://" + defaultHTTP

// cli is one call of the program: what it was given, and where it writes to.
type cli struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	now      func() time.Time

	url, token, namespace, output string
	caFile                        string // of the authorities whose certificates are trusted; "": the machine's

	asks     func() bool // whether a user can answer a question
	coloured func() bool // whether tables have colours

	began bool // a command has begun: what failed before was bad usage
}

func newCLI(in io.Reader, out, err io.Writer) *cli {
	c := &cli{in: in, out: out, err: err, getenv: os.Getenv, now: time.Now}
	c.asks, c.coloured = c.interactive, c.colours
	return c
}

// run does what the arguments say and returns the exit status.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	err := root.ExecuteContext(ctx)
	if err != nil && !c.began {
		err = &usageError{err}
	}
	if err != nil {
		if text := explainError(err); text != "" {
			fmt.Fprintln(c.err, "tidewheel: "+text)
		}
	}
	return exitStatus(err)
}

const rootHelp = `Tidewheel runs uploaded programs on schedules, on one machine or on many.

  tidewheel server                              start everything on this machine
  tidewheel binary push report ./report.sh      upload a program
  tidewheel apply -f jobs.yaml                  say when it runs
  tidewheel get runs                            see what ran

Commands reach a server by --url and --token, or TIDEWHEEL_URL and TIDEWHEEL_TOKEN. A server that the same user has
started on this machine is found without a token being given.

Exit status: 0 done, 1 what was asked about failed, 2 bad usage or refused input, 3 no server could be reached.`

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use: "tidewheel", Short: "Run uploaded programs on schedules", Long: rootHelp,
		SilenceUsage: true, SilenceErrors: true, Version: version,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("%q is no command%s; see `tidewheel help`", args[0], suggestion(cmd, args[0]))
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w%s; see `%s --help`", err, flagSuggestion(cmd, err), cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&c.url, "url", "", "address of the server (TIDEWHEEL_URL; default "+defaultURL+")")
	flags.StringVar(&c.token, "token", "", "what proves who you are (TIDEWHEEL_TOKEN)")
	flags.StringVar(&c.caFile, "ca-file", "", "certificates of the authorities to trust, for a server with https:// and an authority of your own (TIDEWHEEL_CA_FILE)")
	flags.StringVarP(&c.namespace, "namespace", "n", "", "whose jobs (TIDEWHEEL_NAMESPACE; default "+engine.DefaultNamespace+")")
	flags.StringVarP(&c.output, "output", "o", "table", "how to print: table, json or yaml")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return c.settle() }

	root.AddGroup(
		&cobra.Group{ID: "define", Title: "Programs, jobs and DAGs:"},
		&cobra.Group{ID: "watch", Title: "Runs and waves:"},
		&cobra.Group{ID: "time", Title: "Schedules:"},
		&cobra.Group{ID: "operate", Title: "Servers:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	add("define", c.binaryCommand(), c.applyCommand(), c.validateCommand(), c.importCommand(), c.getCommand(), c.describeCommand(),
		c.pauseCommand(), c.resumeCommand(), c.labelCommand(), c.favouriteCommand(), c.drainCommand(), c.scalingCommand(), c.timelineCommand(), c.collisionsCommand(), c.spreadCommand(), c.deleteCommand(), c.historyCommand(), c.revertCommand(),
		c.exportCommand(), c.secretCommand(), c.namespaceCommand(), c.notifyCommand())
	add("watch", c.runCommand(), c.logsCommand(), c.artifactsCommand(), c.cancelCommand(), c.retryCommand(), c.clearCommand(), c.markCommand(), c.diffCommand(), c.deadLettersCommand())
	add("time", c.nextCommand(), c.slotsCommand(), c.backfillCommand())
	add("operate", c.serverCommand(), c.readyCommand(), c.executorCommand(), c.taskKeyCommand(), c.backupCommand(), c.restoreCommand(), c.migrateCommand(), c.doctorCommand(),
		c.userCommand(), c.tokenCommand(), c.sessionCommand(), c.auditCommand(), c.configCommand(), c.versionCommand())
	c.usageArguments(root)
	return root
}

// usageArguments makes a wrong number of arguments a mistake of usage, with the line that shows the right one; and a
// word after a group of commands that is none of them, too. It notes when a command begins.
func (c *cli) usageArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.HasParent() && cmd.RunE == nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage("%q is no command of `%s`%s; see `%[2]s --help`", args[0], cmd.CommandPath(), suggestion(cmd, args[0]))
		}
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c.began = true
			return run(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		c.usageArguments(child)
	}
}

// settle fills in from the environment what no flag said.
func (c *cli) settle() error {
	for _, from := range []struct {
		setting               *string
		environment, default_ string
	}{
		{&c.url, "TIDEWHEEL_URL", defaultURL},
		{&c.token, "TIDEWHEEL_TOKEN", ""},
		{&c.caFile, "TIDEWHEEL_CA_FILE", ""},
		{&c.namespace, "TIDEWHEEL_NAMESPACE", engine.DefaultNamespace},
	} {
		if *from.setting == "" {
			*from.setting = c.getenv(from.environment)
		}
		if *from.setting == "" {
			*from.setting = from.default_
		}
	}
	switch c.output {
	case "table", "json", "yaml":
	default:
		return usage("--output %q: use table, json or yaml", c.output)
	}
	if !strings.Contains(c.url, "://") {
		c.url = "http://" + c.url
	}
	return nil
}

// noOutput refuses --output for what prints no value: a script that asks for JSON must not take something else for it.
func (c *cli) noOutput(cmd *cobra.Command, what string) error {
	if !cmd.Flags().Changed("output") {
		return nil
	}
	return usage("--output is for lists and values: %s; leave it out", what)
}

// client returns the connection to the server. Without --token it looks for the token where a server of the same user on
// this machine has left it.
func (c *cli) client() (*client.Client, error) {
	token := c.token
	if token == "" {
		token = localToken(c.stateFolder(), c.url)
	}
	trusted, err := c.authorities()
	if err != nil {
		return nil, err
	}
	made, err := client.New(client.Config{URL: c.url, Token: token, Namespace: c.namespace, UserAgent: "tidewheel/" + version, RootCAs: trusted})
	if err != nil {
		return nil, usage("--url: %w", err)
	}
	return made, nil
}

// authorities reads the file of --ca-file; nil without one.
func (c *cli) authorities() (*x509.CertPool, error) {
	if c.caFile == "" {
		return nil, nil
	}
	pool, err := certs.Authorities(c.caFile)
	if err != nil {
		return nil, usage("--ca-file: %w", err)
	}
	return pool, nil
}

// get asks a path of the server that needs no token; the caller closes the answer's body.
func (c *cli) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.url, "/")+path, nil)
	if err != nil {
		return nil, usage("--url: %w", err)
	}
	trusted, err := c.authorities()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted},
	}
	return (&http.Client{Transport: transport}).Do(request)
}
