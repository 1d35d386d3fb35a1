package condition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/dag/condition"
)

func environment(t testing.TB) condition.Environment {
	t.Helper()
	return condition.Environment{
		Outputs: map[string]map[string]any{
			"join": {
				"rows": value(t, "5"), "share": value(t, "0.5"), "none": value(t, "0"), "ok": true, "name": "tide",
				"shops": value(t, `["dhaka","khulna"]`), "ports": value(t, `[{"id":1,"open":true},{"id":2,"open":false}]`), "empty": value(t, "[]"),
			},
			"my-task": {"rows": value(t, "7")},
		},
		Payload: value(t, `{"day":"monday","limit":3}`),
		Epoch:   12,
		Slot:    time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC),
		Args:    map[string]string{"day": "7"},
	}
}

func value(t testing.TB, text string) any {
	t.Helper()
	decoded, err := condition.Value(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestConditions(t *testing.T) {
	for text, want := range map[string]bool{
		"outputs.join.rows > 0":                                   true,
		"outputs.join.rows > 5 or outputs.join.ok":                true,
		"outputs.join.rows == 5.0":                                true,
		`outputs["my-task"].rows == 7`:                            true,
		"outputs.join?.missing == nil":                            true,
		"(outputs.join.missing ?? 0) > 0":                         false,
		"outputs.other?.rows != nil":                              false,
		"outputs.join.none != 0 && 10 / outputs.join.none > 1":    false,
		"10 / outputs.join.rows == 2":                             true,
		"7 % 4 == 3":                                              true,
		"payload.limit < epoch":                                   true,
		`payload.day in ["monday", "tuesday"]`:                    true,
		`args.day == "7" and int(args.day) == 7`:                  true,
		"slot.Hour() == 3 && slot.Weekday().String() == 'Monday'": true,
		`slot < date("2026-12-01")`:                               true,
		"len(outputs.join.shops) == 2":                            true,
		"any(outputs.join.ports, .open)":                          true,
		"all(outputs.join.ports, .open)":                          false,
		"count(outputs.join.ports, #.id > 1) == 1":                true,
		"let n = outputs.join.rows; n > 1 && n < 9":               true,
		"sum(outputs.join.ports, .id) == 3":                       true,
		"outputs.join.ok":                                         true,
	} {
		compiled, err := condition.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := compiled.Eval(environment(t)); err != nil || got != want {
			t.Errorf("%s gives %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestLists(t *testing.T) {
	for text, want := range map[string]string{
		"outputs.join.shops":                `["dhaka","khulna"]`,
		"outputs.join.empty":                `[]`,
		"outputs.join.missing ?? []":        `[]`,
		"1..3":                              `[1,2,3]`,
		`["a", "b"]`:                        `["a","b"]`,
		"filter(outputs.join.ports, .open)": `[{"id":1,"open":true}]`,
		`map(outputs.join.ports, {{"id": .id, "n": 1.5}})`: `[{"id":1,"n":1.5},{"id":2,"n":1.5}]`,
		`split("a,b", ",")`:                           `["a","b"]`,
		"outputs.join.shops | map(upper(#)) | sort()": `["DHAKA","KHULNA"]`,
		"keys(args)":                                  `["day"]`,
	} {
		compiled, err := condition.CompileList(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		items, err := compiled.Eval(environment(t))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: items differ (-want +got):\n%s", text, diff)
		}
	}
}

func TestWhatCannotBeMeantIsRefusedBeforeItRuns(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "is empty: give it an expression, or remove the key",
		"outputs.join.rows >":                    "does not compile: unexpected token EOF (at character 19)",
		"rows > 0":                               "does not compile: unknown name rows (at character 1)",
		"epoch":                                  "must be true or false, and this is a number: compare it with something",
		`"yes"`:                                  "must be true or false, and this is text: compare it with something",
		"1 / 0 > 1":                              "divides by zero: test the divisor first, as in n != 0 && total / n > 2",
		"5 % 0 == 1":                             "divides by zero: test the divisor first, as in n != 0 && total / n > 2",
		"epoch > args":                           "does not compile: invalid operation: > (mismatched types int and map[string]string) (at character 7)",
		"len(outputs) > 0":                       `must name the task whose output it reads: write outputs.join.rows, or outputs["my-task"].rows`,
		"outputs[args.task].ok":                  `must name the task whose output it reads: write outputs.join.rows, or outputs["my-task"].rows`,
		"$env.outputs.a.b > 0":                   "does not compile: unknown name $env",
		"__meter == nil":                         "does not compile: unknown name __meter",
		"outputs.my-task.rows > 0":               `does not compile: unknown name task (at character 12); a name with '-', or with a digit first, is written outputs["my-task"]`,
		"now() > slot":                           "does not compile: unknown name now (at character 1)",
		"epoch > 0\n&& rows":                     "does not compile: unknown name rows (at character 4 of line 2)",
		strings.Repeat("x", 5000):                "is 5000 bytes long: use at most 4096",
		"0" + strings.Repeat("+0", 600) + " > 0": "does not compile: expression exceeds maximum allowed nodes (at character 502)",
	} {
		if _, err := condition.Compile(text); err == nil || err.Error() != want {
			t.Errorf("%.80s:\n got %v\nwant %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"epoch":                "must be a list, and this is a number: name an output that holds one, such as outputs.join.shops",
		"epoch > 1":            "must be a list, and this is true or false: name an output that holds one, such as outputs.join.shops",
		`"a,b"`:                "must be a list, and this is text: name an output that holds one, such as outputs.join.shops",
		"outputs.join":         "must be a list, and this is a mapping, such as all outputs of a task: name an output that holds one, such as outputs.join.shops",
		"slot":                 "must be a list, and this is a time: name an output that holds one, such as outputs.join.shops",
		"len(outputs.a.shops)": "must be a list, and this is a number: name an output that holds one, such as outputs.join.shops",
	} {
		if _, err := condition.CompileList(text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestWhatGoesWrongWithTheDataIsSaidInWords(t *testing.T) {
	for text, want := range map[string]string{
		"1 / outputs.join.none > 1":   "divides by zero: test the divisor first, as in n != 0 && total / n > 2",
		"1.5 / outputs.join.none > 1": "divides by zero: test the divisor first, as in n != 0 && total / n > 2",
		"5 % outputs.join.none > 1":   "divides by zero: test the divisor first, as in n != 0 && total / n > 2",
		"outputs.join.missing > 0": "cannot be evaluated: invalid operation: <nil> > int; " +
			"a value is missing: give one in its place with ??, as in (outputs.join.rows ?? 0) > 0",
		"outputs.join.name > 5": "cannot be evaluated: invalid operation: string > int; text is made a number with int() or float()",
		"outputs.join.rows":     "must be true or false, and gave the number 5: compare it with something",
		"outputs.join.missing":  "must be true or false, and gave nothing: the output is missing: compare it with something",
	} {
		compiled, err := condition.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := compiled.Eval(environment(t)); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"outputs.join.rows":      "must be a list, and gave the number 5",
		"outputs.join.name":      `must be a list, and gave the text "tide"`,
		"outputs.join.missing":   "must be a list, and gave nothing: the output is missing",
		"payload":                "must be a list, and gave a mapping, such as all outputs of a task",
		"1..10001":               "gave a list of 10001 items: a task runs over at most 10000, so let one run do several of them",
		"map(1..10000, payload)": "",
	} {
		compiled, err := condition.CompileList(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := compiled.Eval(environment(t)); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestTasksAreTheOnesWhoseOutputsAreRead(t *testing.T) {
	compiled, err := condition.Compile(`outputs.b.x > 0 && outputs["a-1"].y?.z == outputs?.b.y && any(outputs.c.list, # > outputs.d.least)`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a-1", "b", "c", "d"}, compiled.Tasks()); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
}

// Each of these would take the memory or the time of a careless evaluator.
func TestHostileExpressionsAreStopped(t *testing.T) {
	numbers := make([]any, 10_000)
	for i := range numbers {
		numbers[i] = i
	}
	data := environment(t)
	data.Payload = map[string]any{"list": numbers, "text": strings.Repeat("a", 1<<20)}
	doubled := `["a"]` + strings.Repeat(" | map(# + #)", 60)
	nested := `["a"]` + strings.Repeat(" | map([#, #])", 60)
	const tooMuch = "takes too long or too much memory over this data: let a task work out the answer, and read its output"
	for name, text := range map[string]string{
		"rounds in rounds":            "count(payload.list, count(payload.list, count(payload.list, # > 0) > 0) > 0) > 0",
		"a search in each round":      "all(payload.list, all(payload.list, # in payload.list))",
		"text that doubles":           "len(" + doubled + ") > 0",
		"lists that double":           "len(" + nested + ") > 0",
		"a sum that doubles":          `len(reduce(1..1000, #acc + #acc, "a")) > 0`,
		"variables that double":       "let a = payload.text; let b = a + a; let c = b + b; len(c) > 0",
		"a long text in every round":  "len(map(payload.list, payload.text)) > 0",
		"a sort in every round":       "count(payload.list, len(sort(payload.list)) > 0) > 0",
		"a range past all bounds":     "len(1..2000000000) > 0",
		"ranges in rounds":            "count(1..1000, len(1..100000) > 0) > 0",
		"a text past all bounds":      `len(repeat("abc", 2000000000)) > 0`,
		"text from rounds in sorting": "len(sortBy(payload.list, toJSON(payload))) > 0",
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := condition.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := compiled.Eval(data); err == nil || err.Error() != tooMuch {
				t.Errorf("%.100s: %v", text, err)
			}
		})
	}
}

func TestAListTooLargeToKeepIsRefused(t *testing.T) {
	compiled, err := condition.CompileList("[" + strings.TrimSuffix(strings.Repeat("payload,", 20), ",") + "]")
	if err != nil {
		t.Fatal(err)
	}
	const want = "gave a list of more than 8388608 bytes: pass larger data as artifacts"
	if _, err := compiled.Eval(condition.Environment{Payload: strings.Repeat("a", 1<<20)}); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestOrdinaryWorkOverLongListsIsDone(t *testing.T) {
	numbers := make([]any, 10_000)
	for i := range numbers {
		numbers[i] = map[string]any{"id": i, "name": fmt.Sprintf("shop %d", i)}
	}
	compiled, err := condition.CompileList(`filter(payload, .id >= 0 && .name != "") | map({{"shop": .name, "id": .id * 2}})`)
	if err != nil {
		t.Fatal(err)
	}
	items, err := compiled.Eval(condition.Environment{Payload: numbers})
	if err != nil || len(items) != 10_000 || string(items[7]) != `{"id":14,"shop":"shop 7"}` {
		t.Errorf("%d items, %v", len(items), err)
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]any{
		"": nil, "null": nil, "5": 5, "-5": -5, "5.0": 5.0, "1e3": 1000.0, `"5"`: "5", "true": true,
		"[1, 2.5]": []any{1, 2.5}, `{"a": {"b": 1}}`: map[string]any{"a": map[string]any{"b": 1}},
		"123456789012345678901234567890": 123456789012345678901234567890.0,
	} {
		if diff := cmp.Diff(want, value(t, text)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"{", "5 6", "tide"} {
		if decoded, err := condition.Value(json.RawMessage(text)); err == nil {
			t.Errorf("%s became %v", text, decoded)
		}
	}
}

// Whatever is written: no panic, no endless evaluation, and errors of one line.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		"outputs.join.rows > 0", `outputs["my-task"].rows in 1..3`, "let x = payload.a ?? []; len(x) > 1", `map(filter(payload, # > 2), {"a": #, "b": [#index]})`,
		"reduce(1..9, #acc + # / epoch) % 3 == 0", `slot.Format("2006") matches "^20" ? keys(args) : [1.5, -2, nil]`, "$env?.outputs | toPairs()",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		oneLine := func(err error) {
			if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("an error of several lines: %q", err)
			}
		}
		when, err := condition.Compile(text)
		oneLine(err)
		if err == nil {
			_, err = when.Eval(environment(t))
			oneLine(err)
		}
		list, err := condition.CompileList(text)
		oneLine(err)
		if err == nil {
			_, err = list.Eval(environment(t))
			oneLine(err)
		}
	})
}

func BenchmarkEval(b *testing.B) {
	compiled, err := condition.Compile("outputs.join.rows > 0 && payload.limit < epoch")
	if err != nil {
		b.Fatal(err)
	}
	data := environment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Eval(data); err != nil {
			b.Fatal(err)
		}
	}
}
