package spec_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

func TestSyntaxErrorsSayWhereAndWhatToDo(t *testing.T) {
	for _, bad := range []badInput{
		{name: "empty", whole: "\n", want: []string{"1:1: the file holds no document: write at least kind, name and binary"}},
		{name: "comments only", whole: "# nothing\n---\n# here\n", want: []string{"1:1: the file holds no document: write at least kind, name and binary"}},
		{name: "tab as indentation", text: "retry:\n\tdelay: 5s\n", want: []string{"5:1: the document is not YAML: a tab cannot indent: use spaces"}},
		{name: "tab below spaces", text: "retry:\n  delay: 5s\n\tmax_delay: 5s\n", want: []string{"6:1: the document is not YAML: a tab cannot indent: use spaces"}},
		{name: "at sign", text: "schedule: @daily\n", want: []string{"4:11: the document is not YAML: a value cannot begin with '@': put it in quotes"}},
		{name: "star", text: "schedule: */5 * * * *\n", want: []string{"4:11: the document is not YAML: a value that begins with '*' is an alias or an anchor: put it in quotes"}},
		{name: "colon in text", text: "description: a: b\n", want: []string{"4:1: the document is not YAML: there is a second ': ' on this line, or the line is indented too far: put text with ': ' in quotes"}},
		{name: "missing colon", text: "timeout 5m\ntier: light\n", want: []string{"5:1: the document is not YAML: a key needs a ':' after it, and text over several lines needs quotes"}},
		{name: "dedent", text: "retry:\n    delay: 5s\n  max_delay: 5s\n", want: []string{"6:3: the document is not YAML: this line does not fit the lines above it: check its indentation, and quotes before it"}},
		{name: "open list", text: "args: [a,\nenv: {A: b}\n", want: []string{"5:1: the document is not YAML: the document ends inside '[': close it with ']'"}},
		{name: "open mapping", text: "env: {A: b\n---\n" + head, want: []string{"4:1: the document is not YAML: the document ends inside '{': close it with '}'"}},
		{name: "open quote", text: "description: \"a\ntier: light\n", want: []string{"4:1: the document is not YAML: a quote is opened here and never closed"}},
		{name: "control character", text: "description: a\x01b\n", want: []string{"4:15: the document is not YAML: control character 0x01 is not allowed: remove it"}},
		{name: "not UTF-8", text: "description: ü\xff\n", want: []string{"4:15: the document is not UTF-8 text: byte 0xff is out of place"}},
		{name: "UTF-16", whole: "\xff\xfek\x00i\x00", want: []string{"1:1: the document is not UTF-8 text: byte 0xff is out of place"}},
		{name: "invisible line break", text: "description: a\u2028b\n", want: []string{"4:15: the document has an invisible line break, U+2028: remove it, or write \\u2028 in double quotes"}},
		{name: "lines of a Mac", text: "tier: light\rtier: light\r", want: []string{`5:1: key "tier" is given twice: the first is on line 4`}},
		{name: "lines of DOS", text: "tier: light\r\ntier: light\r\n", want: []string{`5:1: key "tier" is given twice: the first is on line 4`}},
		{name: "unknown anchor", text: "tier: *light\n", want: []string{"4:1: the document is not YAML: unknown anchor 'light' referenced"}},
		{name: "JSON cut short", whole: "{\n \"kind\": \"Job\",\n", want: []string{"2:2: the document is not YAML: the document ends inside '[' or '{': close it"}},
	} {
		t.Run(bad.name, func(t *testing.T) {
			_, problems := spec.Decode("job.yaml", []byte(bad.input()))
			checkProblems(t, problems, bad.want)
		})
	}
}

func TestBrokenJSONSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"kind\": \"Job\",\n}":      "job.json:3:1: the document is not JSON: invalid character '}' looking for beginning of object key string",
		"{\"kind\": \"Job\"":             "job.json:1:15: the document is not JSON: unexpected end of JSON input",
		"{\"kind\": \"Job\"} {}":         "job.json:1:17: the document is not JSON: invalid character '{' after top-level value",
		"{\"kind\": \"Job\",\n'name':5}": "job.json:2:1: the document is not JSON: invalid character '\\'' looking for beginning of object key string",
	} {
		_, problems := spec.Decode("job.json", []byte(text))
		if got := problems.Error(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// Each of these would cost memory, time or the stack of a careless reader.
func TestHostileInputIsRefusedCheaply(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString(head + "payload:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'i'; c++ {
		fmt.Fprintf(&laughs, "  %c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	many := strings.Repeat("x: 1\n", 100_000)
	for _, test := range []struct{ name, text, want string }{
		{"billion laughs", laughs.String(), "aliases of this document stand for more than 10000 values: write them out"},
		{"deep lists", head + "payload: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "payload is nested more than 100 levels deep"},
		{"deeper than the parser goes", head + "payload: " + strings.Repeat("[", 200_000), "exceeded max depth of 10000"},
		{"deep blocks", head + "payload:\n " + strings.Repeat("- ", 5000) + "x", "payload is nested more than 100 levels deep"},
		{"deep JSON", `{"payload": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "it is nested more than 100 levels deep"},
		{"long key over many values", `{"payload": {"` + strings.Repeat("k", 500_000) + `": [` + strings.Repeat("1,", 50_000) + `1]}, "x": 1}`, `unknown key "x"`},
		{"long unknown key", head + "? " + strings.Repeat("k", 500_000) + "\n: 1\n", "unknown key \"" + strings.Repeat("k", 60) + "…\""},
		{"long variable", head + "env: {" + strings.Repeat("K", 500) + ": 1}\n", "env." + strings.Repeat("K", 100) + "… has a name of 500 bytes: use at most 255"},
		{"long anchor", head + "tier: *" + strings.Repeat("a", 500_000) + "\n", "unknown anchor 'aaa"},
		{"large payload", head + "payload: [" + strings.Repeat("abcdefghijklmnopqrstuvwxyz, ", 50_000) + "]", "payload is more than 1048576 bytes of JSON: pass larger data by reference"},
		{"one key again and again", head + many, "there are more problems from here on"},
		{"100,000 faulty documents", head + strings.Repeat("---\n[\n", 100_000), "there are more problems from here on"},
		{"100,000 comments", strings.Repeat("# c\n", 100_000) + "kind: Job\n", "name is missing"},
		{"too large", strings.Repeat("#", spec.MaxFile+1), "the document is 4194305 bytes: at most 4194304 are read; split it"},
		{"long argument", head + "args: [" + strings.Repeat("a", 200_000) + "]", "args[0] is 200000 bytes long: use at most 131071, or the payload"},
		{"many arguments", head + "args: [" + strings.Repeat("a,", 2000) + "]", "args has 2000 arguments: use at most 1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			documents, problems := spec.Decode("job.yaml", []byte(test.text))
			if !strings.Contains(problems.Error(), test.want) {
				t.Errorf("problems do not say %q:\n%.2000s", test.want, problems.Error())
			}
			if length := len(problems.Error()); length > 100_000 {
				t.Errorf("the problems take %d bytes to tell", length)
			}
			if len(documents) > 1 {
				t.Errorf("%d documents were accepted", len(documents))
			}
		})
	}
}

func TestAFileOfFaultsIsNotReadToItsEnd(t *testing.T) {
	text := head + strings.Repeat("---\n[\n", 5000) + "---\nkind: Job\nname: last\nbinary: b\n"
	documents, _ := spec.Decode("jobs.yaml", []byte(text))
	if len(documents) != 1 || documents[0].Job.Name != "a" {
		t.Errorf("got %d documents, want the first alone", len(documents))
	}
}

// Every value has a path, for the case of a fault; deep in long keys it must
// not cost more than the value.
func TestPathsOfPayloadsCostLittle(t *testing.T) {
	const depth = 90
	text := `{"name": "a", "binary": "b", "payload": ` + strings.Repeat(`{"`+strings.Repeat("k", 90)+`": `, depth) +
		"[" + strings.Repeat("1,", 100_000) + "1]" + strings.Repeat("}", depth+1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, problems := spec.DecodeJob("", []byte(text)); len(problems) > 0 {
		t.Fatal(problems)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 300<<20 {
		t.Errorf("reading %d bytes allocated %d MiB", len(text), used>>20)
	}
}

func TestManySoundDocumentsAreRead(t *testing.T) {
	var text strings.Builder
	const count = 3000
	for i := range count {
		fmt.Fprintf(&text, "---\nkind: Job\nname: job-%d\nbinary: b\nschedule: \"0 3 * * *\"\n", i)
	}
	documents, problems := spec.Decode("jobs.yaml", []byte(text.String()))
	if len(documents) != count || len(problems) != 0 {
		t.Fatalf("got %d documents and %v", len(documents), problems)
	}
	if last := documents[count-1]; last.Line != 5*count-3 || last.Job.Name != fmt.Sprintf("job-%d", count-1) {
		t.Errorf("the last document is %s on line %d", last.Job.Name, last.Line)
	}
}
