package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggestionDistance is how many letters a word may differ from the one that is suggested for it.
const suggestionDistance = 2

// suggestion names the command that was perhaps meant.
func suggestion(cmd *cobra.Command, word string) string {
	var names []string
	for _, child := range cmd.Commands() {
		for _, below := range child.Commands() { // `tidewheel push`
			if below.IsAvailableCommand() && below.Name() == strings.ToLower(word) {
				return ": did you mean `" + below.CommandPath() + "`?"
			}
		}
		if child.IsAvailableCommand() {
			names = append(append(names, child.Name()), child.Aliases...)
		}
	}
	if similar := nearest(word, names); similar != "" {
		return ": did you mean `" + cmd.CommandPath() + " " + similar + "`?"
	}
	return ""
}

// flagSuggestion names the flag that was perhaps meant where the error says that there is no such flag.
func flagSuggestion(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	word := unknown.GetSpecifiedName()
	if group := unknown.GetSpecifiedShortnames(); group != "" {
		word = group // -status is read as -s -t -a …
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	if similar := nearest(word, names); similar != "" {
		return ": did you mean --" + similar + "?"
	}
	return ""
}

// nearest returns the name that differs from a word in the fewest letters, or begins with it; "" where none is near.
func nearest(word string, names []string) string {
	list := &cobra.Command{}
	for _, name := range names {
		list.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	for distance := 1; distance <= suggestionDistance && distance < len(word); distance++ {
		list.SuggestionsMinimumDistance = distance
		if similar := list.SuggestionsFor(strings.ToLower(word)); len(similar) > 0 {
			return similar[0]
		}
	}
	return ""
}
