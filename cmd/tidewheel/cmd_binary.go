package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) binaryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "binary", Aliases: []string{"binaries"}, Short: "Manage binaries, their versions and aliases",
		Long: `Upload programs, and look after their versions and aliases. Each upload of bytes other than those of the latest
version is a new version, 1, 2, 3 and so
on, that never changes. An alias such as stable is a name that can be moved from version to version; jobs that run
name@alias follow it.`,
	}
	cmd.AddCommand(c.binaryPushCommand(), c.binaryPullCommand(), c.binaryListCommand(), c.binaryShowCommand(), c.binaryDiffCommand(),
		c.binaryAliasCommand(), c.binaryRollbackCommand(), c.binaryRemoveCommand())
	return cmd
}

func (c *cli) binaryListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List binaries", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listBinaries(cmd.Context(), 0) },
	}
}

func (c *cli) binaryShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the versions and aliases of a binary", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.showBinary(cmd.Context(), args[0]) },
	}
}

// tableOfBinaries lists programs, one a line.
func (c *cli) tableOfBinaries(w io.Writer, binaries []wire.Binary) {
	if len(binaries) == 0 {
		fmt.Fprintln(w, "There are no programs yet: upload one with `tidewheel binary push NAME FILE`.")
		return
	}
	t := newTable(w, "NAME", "VERSION", "SIZE", "KIND", "ALIASES", "UPDATED")
	for i := range binaries {
		b := &binaries[i]
		var last wire.BinaryVersion
		if n := len(b.Versions); n > 0 {
			last = b.Versions[n-1]
		}
		t.row(b.Name, last.N, bytesOf(last.Size), kindOf(last), aliasWords(b.Aliases), c.ago(b.UpdatedAt))
	}
	t.flush()
}

func kindOf(version wire.BinaryVersion) string {
	return strings.TrimSpace(version.Kind + " " + version.Arch)
}

func aliasWords(aliases map[string]int) string {
	var words []string
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		words = append(words, fmt.Sprintf("%s=%d", alias, aliases[alias]))
	}
	return strings.Join(words, ",")
}

// describeBinary prints all about one binary.
func (c *cli) describeBinary(w io.Writer, b *wire.Binary) {
	t := newTable(w)
	t.field("Name", b.Name)
	t.field("Namespace", b.Namespace)
	t.field("Aliases", aliasWords(b.Aliases))
	t.field("Used by", strings.Join(b.UsedBy, ", "))
	t.flush()
	fmt.Fprintln(w, "\nVersions:")
	t = newTable(w, "VERSION", "SIZE", "KIND", "SHA256", "BY", "UPLOADED")
	for _, v := range slices.Backward(b.Versions) {
		t.row(v.N, bytesOf(v.Size), kindOf(v), v.SHA256, v.UploadedBy, c.ago(v.At))
	}
	t.flush()
	if len(b.AliasHistory) == 0 {
		return
	}
	fmt.Fprintln(w, "\nAlias history:")
	t = newTable(w, "ALIAS", "FROM", "TO", "BY", "WHEN")
	for _, m := range slices.Backward(b.AliasHistory) {
		from := ""
		if m.From > 0 {
			from = fmt.Sprint(m.From)
		}
		t.row(m.Alias, from, m.To, m.By, c.ago(m.At))
	}
	t.flush()
}
