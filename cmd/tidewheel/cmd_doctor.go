package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// How a check ended.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// checked is one line of the doctor's.
type checked struct {
	Check  string `json:"check"`
	Result string `json:"result"` // ok, warn or fail
	Detail string `json:"detail"` // what was found, and what to do about it
}

func ok(format string, args ...any) checked {
	return checked{"", checkOK, fmt.Sprintf(format, args...)}
}
func warn(format string, args ...any) checked {
	return checked{"", checkWarn, fmt.Sprintf(format, args...)}
}
func fail(format string, args ...any) checked {
	return checked{"", checkFail, fmt.Sprintf(format, args...)}
}

func (c *cli) doctorCommand() *cobra.Command {
	var orphans, repair bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check this machine, the settings, and the health of the server",
		Long: `Check this machine, the settings, and the health of the server. It takes the flags of
` + "`tidewheel server`" + ` and judges by them. With --url or TIDEWHEEL_URL it looks at that server, and at this machine only if such a flag is
given, too. The exit status is 1 if a check fails.

With --orphans it compares the store and S3 instead: objects older than a day that no document names, and documents whose objects are
not there. --repair removes such objects. It reads them itself: give it --data of a server that is stopped, or --mongodb-uri and
--s3-endpoint.`,
		Example: "  tidewheel doctor\n  tidewheel doctor --data /var/lib/tidewheel --http 0.0.0.0:8080\n  tidewheel doctor --url https://tidewheel.example.com\n  tidewheel doctor --orphans --data /var/lib/tidewheel",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := c.serverConfig(cmd)
			if err != nil {
				return err
			}
			if err := config.validate(); err != nil {
				return err
			}
			if repair && !orphans {
				return usage("--repair: of --orphans: give that too, and look at what it shows without --repair first")
			}
			if orphans {
				return c.orphans(cmd.Context(), &config, repair)
			}
			named := cmd.Flags().Changed("url") || c.getenv("TIDEWHEEL_URL") != ""
			machine := !named
			for _, name := range settingNames(cmd.Flags()) {
				machine = machine || cmd.Flags().Changed(name)
			}
			return c.doctor(cmd.Context(), &config, named, machine)
		},
	}
	serverFlags(cmd.Flags())
	cmd.Flags().BoolVar(&orphans, "orphans", false, "compare the store and S3: what is there of one side only")
	cmd.Flags().BoolVar(&repair, "repair", false, "with --orphans: remove objects that no document names")
	return cmd
}

// doctor checks one thing after another. wanted says that the user named a server, which must then answer; machine,
// that this machine is looked at.
func (c *cli) doctor(ctx context.Context, config *ServerConfig, wanted, machine bool) error {
	server := c.examineServer(ctx, wanted)
	var results []checked
	failures := 0
	type check struct {
		name string
		do   func() checked
	}
	checks := []check{
		{"version", func() checked { return c.checkVersion(server) }},
		{"server", func() checked { return server.check }},
		{"slot ledger", func() checked { return server.ledger }},
		{"queues", func() checked { return server.queues }},
		{"streams", func() checked { return server.streams }},
		{"rights", func() checked { return server.rights }},
		{"binaries", func() checked { return c.checkBinaries(ctx, server) }},
		{"clock", func() checked { return c.checkClock(server) }},
		{"store", func() checked { return server.store }},
		{"clocks", func() checked { return server.clocks }},
	}
	ofMachine := []check{
		{"data folder", func() checked { return checkData(config.Data) }},
		{"database", func() checked { return checkDatabase(ctx, config) }},
		{"disk", func() checked { return checkDisk(config.Data) }},
		{"port", func() checked { return checkPort(ctx, config.HTTP, server) }},
		{"user", func() checked { return checkUser(config) }},
		{"cgroups", checkGroups},
		{"open files", checkFiles},
		{"java", func() checked {
			return checkProgram("java", "-version", "JARs cannot run here: install a Java runtime if you have any")
		}},
		{"python3", func() checked {
			return checkProgram("python3", "--version", "scripts in Python cannot run here: install it if you have any")
		}},
	}
	if machine {
		checks = append(checks, ofMachine...)
	}
	for _, check := range checks {
		result := check.do()
		result.Check = check.name
		if result.Result == checkFail {
			failures++
		}
		results = append(results, result)
	}
	err := c.print(map[string]any{"items": results}, func(w io.Writer) {
		t := newTable(w)
		for _, r := range results {
			t.row(r.Result, r.Check, r.Detail)
		}
		t.flush()
	})
	if err == nil && failures > 0 {
		err = &outcomeError{count(failures, "check") + " failed"}
	}
	return err
}
