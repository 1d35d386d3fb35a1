package main

import (
	"bytes"
	"os"
	"strings"
)

// page is text that is laid out before it is written. On a terminal, words that say how something is have a colour.
type page struct {
	bytes.Buffer
	coloured bool
}

// colours reports whether standard output is a terminal whose user wants colours (https://no-color.org).
func (c *cli) colours() bool {
	file, ok := c.out.(*os.File)
	return ok && isTerminal(file) && c.getenv("NO_COLOR") == ""
}

// The colours are those of the terminal's own theme. All codes have one length: columns stay where they are.
const (
	plainCode  = "39"
	redCode    = "31"
	greenCode  = "32"
	yellowCode = "33"
	cyanCode   = "36"
)

// colourOf are the colours of statuses of runs, waves and tasks, of outcomes of slots, and of states of definitions, executors,
// incidents and deliveries.
var colourOf = map[string]string{
	"succeeded": greenCode, "active": greenCode, "ready": greenCode, "fired": greenCode, "delivered": greenCode, "allowed": greenCode, "done": greenCode,
	"running": cyanCode, "queued": cyanCode, "scheduled": cyanCode, "open": cyanCode,
	"retrying": yellowCode, "cancelled": yellowCode, "skipped": yellowCode, "paused": yellowCode, "late": yellowCode, "draining": yellowCode,
	"waiting": yellowCode, "upstream_failed": yellowCode, "silenced": yellowCode, "pending": yellowCode,
	"failed": redCode, "timed_out": redCode, "lost": redCode, "dead": redCode, "missed": redCode, "failing": redCode, "refused": redCode, "silent": redCode,
}

// colouredHeadings are the columns and fields whose words have colours.
var colouredHeadings = map[string]bool{"STATUS": true, "STATE": true, "OUTCOME": true}

func paint(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	code := colourOf[strings.TrimRight(word, ",:;")]
	if code == "" {
		code = plainCode
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
