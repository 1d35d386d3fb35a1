package importer

import (
	"regexp"
	"strings"
)

// ShellName is what the program that runs commands is called in imported definitions.
const ShellName = "shell"

// Shell is that program: it runs its first argument as a command of $SHELL, /bin/sh where that is not set.
const Shell = "#!/bin/sh\nexec \"${SHELL:-/bin/sh}\" -c \"$1\"\n"

// reference stands in a text for the value of an environment variable until the text is part of a command.
func reference(variable string) string { return "\x01" + variable + "\x02" }

var references = regexp.MustCompile("\x01([A-Za-z0-9_]+)\x02")

// command returns the arguments that let Shell run a command. What looks like a reference of Tidewheel is the command's own.
func (b *builder) command(text string) []string {
	b.shell = true
	text = strings.ReplaceAll(text, "${", "$${")
	return []string{references.ReplaceAllString(text, "$$$1")}
}

// commandOf is command for a program with its arguments; sh -c TEXT is the text.
func (b *builder) commandOf(words []string) []string {
	if len(words) == 3 && words[1] == "-c" {
		switch words[0] {
		case "sh", "/bin/sh", "bash", "/bin/bash":
			return b.command(words[2])
		}
	}
	return b.command(join(words))
}

// join writes words as one command, quoted where a shell would take them apart.
func join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// quote writes a word so that a shell reads it as one. References stay references.
func quote(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:=@%+,", c))
	})
	if plain {
		return word
	}
	var b strings.Builder
	at := 0
	for _, found := range append(references.FindAllStringIndex(word, -1), []int{len(word), len(word)}) {
		if text := word[at:found[0]]; text != "" || word == "" {
			b.WriteString("'" + strings.ReplaceAll(text, "'", `'\''`) + "'")
		}
		if found[0] < found[1] {
			b.WriteString(`"` + word[found[0]:found[1]] + `"`)
		}
		at = found[1]
	}
	return b.String()
}
