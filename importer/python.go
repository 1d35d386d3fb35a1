package importer

import (
	"strings"
	"unicode"
)

// token is one of Python's.
type token struct {
	kind tokenKind
	text string // of a string its value
	line int
	// literal says of a string that it holds what is written: it is no f-string with something to fill in.
	literal bool
}

type tokenKind int

const (
	tokenName tokenKind = iota + 1
	tokenNumber
	tokenString
	tokenOperator
	tokenEnd // of a statement
)

// scanner splits Python into tokens, as far as calls and literals need it. What it does not know becomes an operator of one
// character; it never fails.
type scanner struct {
	text   string
	at     int
	line   int
	depth  int // of brackets
	tokens []token
}

func tokens(text string) []token {
	s := &scanner{text: strings.ReplaceAll(text, "\r\n", "\n"), line: 1}
	for s.at < len(s.text) {
		s.next()
	}
	s.add(tokenEnd, "")
	return s.tokens
}

func (s *scanner) add(kind tokenKind, text string) {
	s.tokens = append(s.tokens, token{kind: kind, text: text, line: s.line})
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) next() {
	switch c := s.text[s.at]; {
	case c == '\n':
		if s.depth == 0 {
			s.add(tokenEnd, "")
		}
		s.line++
		s.at++
	case c == ' ' || c == '\t' || c == '\f':
		s.at++
	case c == '\\' && strings.HasPrefix(s.rest(), "\\\n"):
		s.line++
		s.at += 2
	case c == '#':
		for s.at < len(s.text) && s.text[s.at] != '\n' {
			s.at++
		}
	case c == ';':
		s.add(tokenEnd, "")
		s.at++
	case s.string():
	case c == '_' || unicode.IsLetter(rune(c)) || c >= 0x80:
		s.word(tokenName)
	case c >= '0' && c <= '9':
		s.word(tokenNumber)
	default:
		s.operator(c)
	}
}

func (s *scanner) word(kind tokenKind) {
	from := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if !(c == '_' || c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) || kind == tokenNumber && c == '.') {
			break
		}
		s.at++
	}
	s.add(kind, s.text[from:s.at])
}

func (s *scanner) operator(c byte) {
	switch c {
	case '(', '[', '{':
		s.depth++
	case ')', ']', '}':
		s.depth = max(0, s.depth-1)
	}
	for _, two := range []string{">>", "<<", "==", "!=", "<=", ">=", "**", "->", ":="} {
		if strings.HasPrefix(s.rest(), two) {
			s.add(tokenOperator, two)
			s.at += 2
			return
		}
	}
	s.add(tokenOperator, string(c))
	s.at++
}

// string reads a literal with its prefix, if there is one here. Literals that follow each other are one.
func (s *scanner) string() bool {
	from := s.at
	for from < len(s.text) && from-s.at < 3 && strings.ContainsRune("rRbBfFuU", rune(s.text[from])) {
		from++
	}
	if from == len(s.text) || s.text[from] != '"' && s.text[from] != '\'' {
		return false
	}
	prefix := strings.ToLower(s.text[s.at:from])
	quotes := s.text[from : from+1]
	if strings.HasPrefix(s.text[from:], strings.Repeat(quotes, 3)) {
		quotes = strings.Repeat(quotes, 3)
	}
	line := s.line
	s.at = from + len(quotes)
	value := s.stringBody(quotes, strings.Contains(prefix, "r"))
	literal := !strings.Contains(prefix, "f") || !strings.Contains(strings.ReplaceAll(value, "{{", ""), "{")
	if strings.Contains(prefix, "f") {
		value = strings.NewReplacer("{{", "{", "}}", "}").Replace(value)
	}
	if last := len(s.tokens) - 1; last >= 0 && s.tokens[last].kind == tokenString {
		s.tokens[last].text += value
		s.tokens[last].literal = s.tokens[last].literal && literal
		return true
	}
	s.tokens = append(s.tokens, token{kind: tokenString, text: value, line: line, literal: literal})
	return true
}

// stringBody reads up to the closing quotes, or for one quote to the end of the line.
func (s *scanner) stringBody(quotes string, raw bool) string {
	var b strings.Builder
	for s.at < len(s.text) {
		if strings.HasPrefix(s.rest(), quotes) {
			s.at += len(quotes)
			return b.String()
		}
		c := s.text[s.at]
		if c == '\n' {
			if len(quotes) == 1 {
				return b.String()
			}
			s.line++
		}
		if c != '\\' || s.at+1 == len(s.text) {
			b.WriteByte(c)
			s.at++
			continue
		}
		escaped := s.text[s.at+1]
		s.at += 2
		if escaped == '\n' {
			s.line++
		}
		switch i := strings.IndexByte("nt\\'\"", escaped); {
		case raw:
			b.WriteByte('\\')
			b.WriteByte(escaped)
		case escaped == '\n': // the line continues
		case i >= 0:
			b.WriteByte("\n\t\\'\""[i])
		default:
			b.WriteByte('\\')
			b.WriteByte(escaped)
		}
	}
	return b.String()
}
