package spec

import (
	"encoding/json"
	"fmt"
	"time"
)

// Strings is one string or a list of them; one is written as such.
type Strings []string

// MarshalJSON writes a single string without its list.
func (s Strings) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// UnmarshalJSON reads a string or a list of strings.
func (s *Strings) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		*s = Strings{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("spec: a text or a list of texts: %w", err)
	}
	*s = many
	return nil
}

// Exclusion takes slots out of a schedule: those that Cron names, or those in
// the span from From (included) to To (not included). Only one of the two is
// given. It is written as a string or as {from, to}.
type Exclusion struct {
	Cron     string
	From, To time.Time
}

// span is the written form of an Exclusion without Cron.
type span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// MarshalJSON writes the expression, or the span.
func (e Exclusion) MarshalJSON() ([]byte, error) {
	if e.Cron != "" {
		return json.Marshal(e.Cron)
	}
	return json.Marshal(span{e.From, e.To})
}

// UnmarshalJSON reads an expression or a span.
func (e *Exclusion) UnmarshalJSON(data []byte) error {
	var expression string
	if err := json.Unmarshal(data, &expression); err == nil {
		*e = Exclusion{Cron: expression}
		return nil
	}
	var written span
	if err := json.Unmarshal(data, &written); err != nil {
		return fmt.Errorf("spec: an expression or {from, to}: %w", err)
	}
	*e = Exclusion{From: written.From, To: written.To}
	return nil
}
