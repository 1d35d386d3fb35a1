package importer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// value is an expression, as far as it is written out.
type value struct {
	text       string   // of a string or a number
	literal    bool     // text is all there is to it
	name       string   // of a variable, with dots: "TriggerRule.ALL_DONE"
	list       []string // texts and names of a list
	dictionary map[string]value
	call       *invocation
}

// invocation is a call: the last part of its name, and what it is given.
type invocation struct {
	name     string
	on       string // what stands before the last dot
	position []value
	keywords map[string]value
}

func (v value) number() (int, bool) {
	number, err := strconv.Atoi(v.text)
	return number, err == nil
}

// duration is that of a timedelta of written out numbers; 0 for anything else.
func (v value) duration() spec.Duration {
	if v.call == nil || v.call.name != "timedelta" {
		return 0
	}
	var total time.Duration
	add := func(v value, unit time.Duration) {
		if number, err := strconv.ParseFloat(v.text, 64); err == nil && number >= 0 && number < 1e6 {
			total += time.Duration(number * float64(unit))
		}
	}
	units := map[string]time.Duration{"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second, "weeks": 7 * 24 * time.Hour}
	for name, v := range v.call.keywords {
		add(v, units[name])
	}
	for i, v := range v.call.position {
		add(v, []time.Duration{24 * time.Hour, time.Second, 0, 0, 0, 0, 0}[min(i, 6)])
	}
	return spec.Duration(total)
}

// names are those of a variable, or of a list of them.
func (v value) names() []string {
	if v.name != "" {
		return []string{v.name}
	}
	return v.list
}

// statement is one of Python's, as far as definitions need it.
type statement struct {
	line      int
	target    string // what the value is assigned to, or is called after "as"
	decorator string
	value     value
	edges     []edge
}

// edge is an arrow between tasks, by the names of their variables.
type edge struct{ from, to []string }

// called is the call that the statement is, of a type that does nothing where it is none.
func (s statement) called() invocation {
	if s.value.call == nil {
		return invocation{}
	}
	return *s.value.call
}

// arguments are those of the call by their names; the first may be given without its own.
func (c invocation) arguments(first string) map[string]value {
	args := map[string]value{}
	for name, v := range c.keywords {
		args[name] = v
	}
	if _, named := args[first]; !named && len(c.position) > 0 {
		args[first] = c.position[0]
	}
	return args
}

// statements reads all statements of a file, whatever they are nested in.
func statements(text string) []statement {
	var found []statement
	var line []token
	for _, t := range tokens(text) {
		if t.kind != tokenEnd {
			line = append(line, t)
			continue
		}
		if len(line) > 0 {
			found = append(found, parseStatement(line))
		}
		line = nil
	}
	return found
}

func parseStatement(line []token) statement {
	s := statement{line: line[0].line}
	if line[0].text == "@" && len(line) > 1 {
		s.decorator = line[1].text
		return s
	}
	if line[0].kind == tokenName && (line[0].text == "with" || line[0].text == "return") {
		line = line[1:]
	}
	if last := len(line) - 3; last > 0 && line[last].text == "as" {
		s.target, line = line[last+1].text, line[:last]
	}
	if len(line) > 2 && line[0].kind == tokenName && line[1].text == "=" {
		s.target, line = line[0].text, line[2:]
	}
	p := &parser{tokens: line}
	s.value = p.expression()
	s.edges = p.arrows(s.value)
	switch c := s.called(); c.name {
	case "set_downstream", "set_upstream":
		for _, other := range c.position {
			e := edge{[]string{c.on}, other.names()}
			if c.name == "set_upstream" {
				e.from, e.to = e.to, e.from
			}
			s.edges = append(s.edges, e)
		}
	case "chain", "cross_downstream":
		for i := 0; i+1 < len(c.position); i++ {
			s.edges = append(s.edges, edge{c.position[i].names(), c.position[i+1].names()})
		}
	}
	return s
}

// parser reads the tokens of one statement.
type parser struct {
	tokens []token
	depth  int
}

// maxNesting bounds brackets in brackets; what lies deeper is not read.
const maxNesting = 50

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return token{}
	}
	return p.tokens[0]
}

func (p *parser) take() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) is(operator string) bool {
	t := p.peek()
	return t.kind == tokenOperator && t.text == operator
}

// arrows reads what follows the first operand.
func (p *parser) arrows(left value) []edge {
	var edges []edge
	for p.is(">>") || p.is("<<") {
		operator := p.take().text
		right := p.expression()
		e := edge{left.names(), right.names()}
		if operator == "<<" {
			e.from, e.to = e.to, e.from
		}
		edges = append(edges, e)
		left = right
	}
	return edges
}

// expression reads one operand. Where an operator follows that it does not know, the value is not written out.
func (p *parser) expression() value {
	p.depth++
	defer func() { p.depth-- }()
	v := p.operand()
	if t := p.peek(); t.kind != 0 && !slices.Contains([]string{",", ")", "]", "}", ":", "=", ">>", "<<"}, t.text) {
		v = value{}
		p.skip()
	}
	return v
}

// skip passes over the rest of an operand.
func (p *parser) skip() {
	for open := 0; len(p.tokens) > 0; p.take() {
		t := p.peek()
		if t.kind != tokenOperator {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			open++
		case ")", "]", "}":
			if open == 0 {
				return
			}
			open--
		case ",", ">>", "<<":
			if open == 0 {
				return
			}
		}
	}
}

func (p *parser) operand() value {
	if p.depth > maxNesting {
		p.skip()
		return value{}
	}
	switch t := p.peek(); {
	case t.kind == tokenString:
		p.take()
		return value{text: t.text, literal: t.literal}
	case t.kind == tokenNumber:
		p.take()
		return value{text: t.text, literal: true}
	case t.kind == tokenName:
		return p.named()
	case t.text == "[" || t.text == "(":
		return p.sequence()
	case t.text == "{":
		return p.mapping()
	}
	return value{}
}

// named reads a name with its dots, and the call that it may be.
func (p *parser) named() value {
	name := p.take().text
	for p.is(".") {
		p.take()
		name += "." + p.take().text
	}
	if !p.is("(") {
		return value{name: name}
	}
	p.take()
	on, last := "", name
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		on, last = name[:dot], name[dot+1:]
	}
	c := &invocation{name: last, on: on, keywords: map[string]value{}}
	for len(p.tokens) > 0 && !p.is(")") {
		if len(p.tokens) > 1 && p.tokens[0].kind == tokenName && p.tokens[1].kind == tokenOperator && p.tokens[1].text == "=" {
			key := p.take().text
			p.take()
			c.keywords[key] = p.expression()
		} else {
			c.position = append(c.position, p.expression())
		}
		p.past(",", ")")
	}
	p.take()
	return value{call: c}
}

// past goes behind a separator, or up to the end of what it separates.
func (p *parser) past(separator, end string) {
	for len(p.tokens) > 0 && !p.is(separator) && !p.is(end) {
		p.take()
	}
	if p.is(separator) {
		p.take()
	}
}

func (p *parser) sequence() value {
	end := map[string]string{"[": "]", "(": ")"}[p.take().text]
	v := value{list: []string{}}
	for len(p.tokens) > 0 && !p.is(end) {
		item := p.expression()
		if item.literal {
			v.list = append(v.list, item.text)
		}
		v.list = append(v.list, item.names()...)
		p.past(",", end)
	}
	p.take()
	if end == ")" && len(v.list) == 1 {
		return value{name: v.list[0]}
	}
	return v
}

func (p *parser) mapping() value {
	p.take()
	v := value{dictionary: map[string]value{}}
	for len(p.tokens) > 0 && !p.is("}") {
		key := p.expression()
		p.past(":", "}")
		if p.is("}") {
			break
		}
		v.dictionary[key.text] = p.expression()
		p.past(",", "}")
	}
	p.take()
	return v
}
