package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeMethods returns a class with a method for each operation. What is in the path and the body come by position, the rest by name.
func writeMethods(document *openAPI) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated + `"""A method for each operation of the API."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, Union

from . import types
from .transport import Content, Stream, Transport


class Operations(Transport):
`)
	byID, at := map[string]*operation{}, map[string][2]string{}
	for path, methods := range document.Paths {
		for method, one := range methods {
			if byID[one.ID] != nil {
				return nil, fmt.Errorf("two operations are called %s", one.ID)
			}
			byID[one.ID], at[one.ID] = one, [2]string{strings.ToUpper(method), path}
		}
	}
	for i, id := range slices.Sorted(maps.Keys(byID)) {
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := writeMethod(&b, at[id][0], at[id][1], byID[id]); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	return b.Bytes(), nil
}

func writeMethod(b *bytes.Buffer, method, path string, o *operation) error {
	var positional, named, query, header []string
	// In the order of the path, which need not be that of the parameters.
	for _, piece := range strings.Split(path, "{")[1:] {
		name, _, _ := strings.Cut(piece, "}")
		i := slices.IndexFunc(o.Parameters, func(p parameter) bool { return p.In == "path" && p.Name == name })
		if i < 0 {
			return fmt.Errorf("the path's %s is not described", name)
		}
		positional = append(positional, snake(name)+": "+pythonType(o.Parameters[i].Schema, "types."))
	}
	kind, of, text := bodyOf(o.Body)
	if kind != "" {
		argument := "body: " + of
		if !o.Body.Required {
			argument = "body: Optional[" + of + "] = None"
		}
		positional = append(positional, argument)
	}
	for _, p := range o.Parameters {
		if p.In == "path" {
			continue
		}
		if p.In == "header" && (p.Name == "Accept" || p.Name == "Last-Event-ID") {
			continue // what the transport says by itself
		}
		argument := snake(p.Name) + ": Optional[" + pythonType(p.Schema, "types.") + "] = None"
		entry := literal(p.Name) + ": " + snake(p.Name)
		if p.Required {
			argument = snake(p.Name) + ": " + pythonType(p.Schema, "types.")
		}
		named = append(named, argument)
		if p.In == "header" {
			header = append(header, entry)
		} else {
			query = append(query, entry)
		}
	}
	if len(named) > 0 {
		named = append([]string{"*"}, named...)
	}
	answer, call := answerOf(o.Responses)
	fmt.Fprintf(b, "    def %s(\n        self,\n", snake(o.ID))
	for _, argument := range append(positional, named...) {
		fmt.Fprintf(b, "        %s,\n", argument)
	}
	fmt.Fprintf(b, "    ) -> %s:\n", answer)
	about := o.Summary + "."
	if o.Description != "" {
		about += "\n\n        " + strings.ReplaceAll(o.Description, "\n", "\n        ")
	}
	fmt.Fprintf(b, "        \"\"\"%s\"\"\"\n", docText(about))
	fmt.Fprintf(b, "        return self.%s(\n            %q,\n            %s,\n", call, method, pythonPath(path))
	if len(query) > 0 {
		fmt.Fprintf(b, "            query={%s},\n", strings.Join(query, ", "))
	}
	if len(header) > 0 {
		fmt.Fprintf(b, "            headers={%s},\n", strings.Join(header, ", "))
	}
	if kind != "" {
		fmt.Fprintf(b, "            body=body,\n            content_type=%q,\n", kind)
	}
	if text != "" {
		fmt.Fprintf(b, "            text_type=%q,\n", text)
	}
	b.WriteString("        )\n")
	return nil
}

// pythonPath is a path in which parameters are put, escaped.
func pythonPath(path string) string {
	if !strings.Contains(path, "{") {
		return literal(path)
	}
	var b strings.Builder
	rest := path
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return `f"` + b.String() + `"`
		}
		name, end, _ := strings.Cut(after, "}")
		b.WriteString("{self.segment(" + snake(name) + ")}")
		rest = end
	}
}

// bodyOf returns what an operation takes: the kind of its body, what that is in Python, and the kind of a body that is text, where it may
// be one; "" for none.
func bodyOf(b *body) (kind, of, text string) {
	if b == nil {
		return "", "", ""
	}
	if _, is := b.Content["application/octet-stream"]; is {
		return "application/octet-stream", "Content", ""
	}
	media, is := b.Content["application/json"]
	if !is {
		return "", "", ""
	}
	of = pythonType(media.Schema, "types.")
	if _, is := b.Content["application/yaml"]; is {
		return "application/json", "Union[" + of + ", str]", "application/yaml"
	}
	return "application/json", of, ""
}

// answerOf returns what an operation returns in Python, and by which method of Transport it is asked for.
func answerOf(responses map[string]*response) (of, call string) {
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		content := responses[status].Content
		if media, is := content["application/json"]; is {
			return pythonType(media.Schema, "types."), "ask"
		}
		if len(content) > 0 {
			return "Stream", "open"
		}
	}
	return "None", "tell"
}
