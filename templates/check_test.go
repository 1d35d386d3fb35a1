package templates_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// void are the elements without an end.
var void = []string{"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}

// checkHTML fails where tags do not match, an id is there twice, or something is inline that the content security
// policy forbids.
func checkHTML(t *testing.T, page string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, void, xml.HTMLEntity
	ids := map[string]bool{}
	var open []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("it is not well-formed: %v", err)
		}
		switch element := token.(type) {
		case xml.StartElement:
			open = append(open, element.Name.Local)
			checkElement(t, element, ids)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != element.Name.Local {
				t.Fatalf("</%s> ends nothing; open are %v", element.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are never ended", open)
	}
}

func checkElement(t *testing.T, element xml.StartElement, ids map[string]bool) {
	t.Helper()
	name := element.Name.Local
	attributes := map[string]string{}
	for _, a := range element.Attr {
		attributes[a.Name.Local] = a.Value
		if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
			t.Errorf("<%s> has an inline %s", name, a.Name.Local)
		}
	}
	if id, ok := attributes["id"]; ok {
		if ids[id] {
			t.Errorf("the id %q is there twice", id)
		}
		ids[id] = true
	}
	switch name {
	case "style":
		t.Error("there is an inline style element")
	case "script":
		if attributes["src"] == "" && attributes["type"] != "application/json" { // data is never run
			t.Error("there is an inline script")
		}
	case "input", "select", "textarea":
		if attributes["type"] != "hidden" && attributes["id"] == "" && attributes["aria-label"] == "" && !slices.Contains([]string{"q", "job", "status", "tier", "since", "any_platform"}, attributes["name"]) {
			t.Errorf("<%s name=%q> has no label", name, attributes["name"])
		}
	}
}

// checkPage is checkHTML for a whole page: it has a title, one h1 and one main part.
func checkPage(t *testing.T, page string) {
	t.Helper()
	checkHTML(t, page)
	for _, tag := range []string{" · Tidewheel</title>", "<h1>", "<main "} {
		if n := strings.Count(page, tag); n != 1 {
			t.Errorf("the page has %d times %s, want it once", n, tag)
		}
	}
	if strings.Contains(page, "<title> ·") {
		t.Error("the page's title is empty")
	}
}
