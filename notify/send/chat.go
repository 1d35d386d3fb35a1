package send

import (
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/notify"
)

// mostShown is how many messages of a digest a chat shows. Slack takes 50 blocks.
const mostShown = 20

// text is a block's text for Slack.
type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type block struct {
	Type     string `json:"type"`
	Text     *text  `json:"text,omitempty"`
	Fields   []text `json:"fields,omitempty"`
	Elements []text `json:"elements,omitempty"`
}

type slackMessage struct {
	Text   string  `json:"text"` // what a notification of the phone shows
	Blocks []block `json:"blocks"`
}

// slackEscapes are the characters that Slack gives a meaning.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackOf writes a message for Slack.
func slackOf(m *notify.Message) slackMessage {
	out := slackMessage{Text: slackEscapes.Replace(m.Data.Title), Blocks: []block{{Type: "section", Text: &text{"mrkdwn", "*" + linked(m) + "*"}}}}
	if lines := factsOf(m); lines != "" {
		out.Blocks = append(out.Blocks, block{Type: "section", Text: &text{"mrkdwn", bounded(lines, 2900)}})
	}
	if len(m.Data.Output) > 0 {
		code := strings.ReplaceAll(slackEscapes.Replace(strings.Join(m.Data.Output, "\n")), "```", "'''")
		out.Blocks = append(out.Blocks, block{Type: "section", Text: &text{"mrkdwn", "```" + bounded(code, 2800) + "```"}})
	}
	for i := range m.Data.Messages {
		if i == mostShown {
			out.Blocks = append(out.Blocks, block{Type: "context", Elements: []text{{"mrkdwn", moreOf(m)}}})
			break
		}
		one := &m.Data.Messages[i]
		lines := "*" + linked(one) + "*"
		if one.Data.Reason != "" {
			lines += "\n" + slackEscapes.Replace(one.Data.Reason)
		}
		out.Blocks = append(out.Blocks, block{Type: "section", Text: &text{"mrkdwn", bounded(lines, 2900)}})
	}
	return out
}

// moreOf returns how much of a digest is not shown.
func moreOf(m *notify.Message) string {
	return fmt.Sprintf("%d more: the page of notifications lists them all.", len(m.Data.Messages)-mostShown)
}

// linked is the title, as a link where there is one.
func linked(m *notify.Message) string {
	title := slackEscapes.Replace(m.Data.Title)
	if m.Data.URL == "" {
		return title
	}
	return "<" + m.Data.URL + "|" + strings.ReplaceAll(title, "|", "/") + ">"
}

func factsOf(m *notify.Message) string {
	var lines []string
	for _, line := range m.Lines() {
		lines = append(lines, slackEscapes.Replace(line.Name+": "+line.Value))
	}
	return strings.Join(lines, "\n")
}

// bounded cuts a text to at most so many bytes.
func bounded(of string, most int) string {
	if len(of) <= most {
		return of
	}
	return strings.ToValidUTF8(of[:most], "") + "…"
}

// card is what a workflow of Teams takes: a message with one Adaptive Card.
type card struct {
	Type        string       `json:"type"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ContentType string  `json:"contentType"`
	Content     content `json:"content"`
}

type content struct {
	Schema  string    `json:"$schema"`
	Type    string    `json:"type"`
	Version string    `json:"version"`
	Body    []element `json:"body"`
	Actions []action  `json:"actions,omitempty"`
}

type element struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Wrap     bool   `json:"wrap,omitempty"`
	Weight   string `json:"weight,omitempty"`
	FontType string `json:"fontType,omitempty"`
	Facts    []fact `json:"facts,omitempty"`
}

type fact struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

type action struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// teamsEscapes keep a text from being read as Markdown, which cards have.
var teamsEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`", "<", "&lt;")

// teamsOf writes a message for Teams.
func teamsOf(m *notify.Message) card {
	c := content{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4"}
	c.Body = append(c.Body, element{Type: "TextBlock", Text: teamsEscapes.Replace(m.Data.Title), Wrap: true, Weight: "Bolder"})
	var facts []fact
	for _, line := range m.Lines() {
		facts = append(facts, fact{line.Name, bounded(teamsEscapes.Replace(line.Value), 2000)})
	}
	if len(facts) > 0 {
		c.Body = append(c.Body, element{Type: "FactSet", Facts: facts})
	}
	if len(m.Data.Output) > 0 {
		lines := teamsEscapes.Replace(strings.Join(m.Data.Output, "\n"))
		c.Body = append(c.Body, element{Type: "TextBlock", Text: strings.ReplaceAll(lines, "\n", "\n\n"), Wrap: true, FontType: "Monospace"})
	}
	for i := range m.Data.Messages {
		if i == mostShown {
			c.Body = append(c.Body, element{Type: "TextBlock", Text: moreOf(m), Wrap: true})
			break
		}
		one := &m.Data.Messages[i].Data
		c.Body = append(c.Body, element{Type: "TextBlock", Text: teamsEscapes.Replace(one.Title), Wrap: true, Weight: "Bolder"})
		if one.Reason != "" {
			c.Body = append(c.Body, element{Type: "TextBlock", Text: bounded(teamsEscapes.Replace(one.Reason), 2000), Wrap: true})
		}
	}
	if m.Data.URL != "" {
		c.Actions = []action{{"Action.OpenUrl", "Show in Tidewheel", m.Data.URL}}
	}
	return card{"message", []attachment{{"application/vnd.microsoft.card.adaptive", c}}}
}
