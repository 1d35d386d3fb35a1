package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// interactive reports whether a user at a terminal can answer a question.
func (c *cli) interactive() bool {
	file, ok := c.in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// asksFirst makes a command that destroys something ask before it does; %s of the question is the arguments. --yes is the
// answer of those who do not want to be asked. Without a terminal there is no question.
func (c *cli) asksFirst(cmd *cobra.Command, question string) *cobra.Command {
	yes := yesFlag(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*yes {
			if err := c.confirm(cmd.Context(), fmt.Sprintf(question, strings.Join(args, " "))); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
	return cmd
}

func yesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().BoolP("yes", "y", false, "do not ask before it is done")
}

// confirm asks a question at the terminal, and returns an error unless the answer is yes.
func (c *cli) confirm(ctx context.Context, question string) error {
	if !c.asks() {
		return nil
	}
	fmt.Fprint(c.err, question+" [y/N] ")
	answered := make(chan string, 1)
	go func() { // what is typed cannot be waited for together with a signal; the process ends soon after one
		line, _ := bufio.NewReader(c.in).ReadString('\n')
		answered <- line
	}()
	select {
	case line := <-answered:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return &outcomeError{"nothing was done"}
	case <-ctx.Done():
		fmt.Fprintln(c.err)
		return context.Cause(ctx)
	}
}
