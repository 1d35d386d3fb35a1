package executor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
)

func TestOutputsAreLinesOrAnObject(t *testing.T) {
	for text, want := range map[string]string{
		"":                      ``,
		"\n\r\n":                ``,
		"{}":                    ``,
		"rows=5":                `{"rows":5}`,
		"rows=5\nrows=6\n":      `{"rows":6}`, // the last counts
		"b=x\r\na=y=z\r\n":      `{"a":"y=z","b":"x"}`,
		"a= x ":                 `{"a":" x "}`,
		"a=":                    `{"a":""}`,
		"_a-B_9=true\nb=false":  `{"_a-B_9":true,"b":false}`,
		"a=null\nb=True":        `{"a":"null","b":"True"}`,
		"a=\"5\"":               `{"a":"\"5\""}`,
		"a=[1, \"x\"]":          `{"a":[1,"x"]}`,
		"a={\"b\": 1.10}":       `{"a":{"b":1.10}}`,
		"a=[1,":                 `{"a":"[1,"}`,
		"a=-0.5\nb=0\nc=123456": `{"a":-0.5,"b":0,"c":123456}`,
		// What would not be written back as it came stays text.
		"a=1.10\nb=007\nc=12345e7\nd=+1\ne=-0\nf=1_000\ng=0x10\nh=NaN\ni=Inf": `{"a":"1.10","b":"007","c":"12345e7","d":"+1","e":"-0","f":"1_000","g":"0x10","h":"NaN","i":"Inf"}`,
		"a=12345678901234567890\nb=0.0000001":                                 `{"a":"12345678901234567890","b":"0.0000001"}`,
		" \n{\"b\": [1, 2],\n \"a\": null}\n":                                 `{"a":null,"b":[1,2]}`,
		"{\"a\": 12345678901234567890}":                                       `{"a":12345678901234567890}`,
		"{\"a\": 1, \"a\": 2}":                                                `{"a":2}`,
		"a=é":                                                                 `{"a":"é"}`,
	} {
		got, err := parseOutputs([]byte(text))
		if string(got) != want || err != nil {
			t.Errorf("%q gives %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestOutputsThatAreNoneSayWhatToDo(t *testing.T) {
	for text, want := range map[string]string{
		"rows":                               "line 1",
		"a=1\n\nrows = 5":                    "line 3",
		"=5":                                 "line 1",
		"9a=5":                               "letters",
		"a b=5":                              "letters",
		"a.b=5":                              "letters",
		"ä=5":                                "letters",
		"text<<EOF\nx\nEOF\n":                "one JSON object for values of several lines",
		"[1]":                                "key=value",
		"{\"a\": 1":                          "one object",
		"{\"a\": 1}\n{\"b\"}":                "one object",
		"{\"a\": 1,\n b: 2}":                 "line 2",
		"{\"a b\": 1}":                       "the key",
		"{\"\": 1}":                          "the key",
		"a=\xff":                             "UTF-8",
		"{\"a\":\"\xff\"}":                   "UTF-8",
		strings.Repeat("k", maxKey+1) + "=1": "letters",
		"a=" + strings.Repeat("<", engine.MaxOutputs/6): "as JSON",
	} {
		if got, err := parseOutputs([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gives %.60s, %v, want words about %q", text, got, err, want)
		}
	}
}

// What is read is JSON that reads as itself, however strange the text.
func FuzzOutputs(f *testing.F) {
	for _, text := range []string{"a=1\nb=[1]", `{"a":{"b":"\u0000<"}}`, "a=-0.1", "a=\"", "{", "\x00=\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		outputs, err := parseOutputs(text)
		if err != nil || outputs == nil {
			return
		}
		var object map[string]any
		if err := json.Unmarshal(outputs, &object); err != nil || len(object) == 0 {
			t.Fatalf("%q gives %s: %v", text, outputs, err)
		}
		again, err := parseOutputs(outputs)
		if err != nil || string(again) != string(outputs) {
			t.Errorf("%q gives %s and then %s, %v", text, outputs, again, err)
		}
	})
}

func TestOutputsAreMaskedInPlace(t *testing.T) {
	mask := output.NewMask(nil, []byte("hunter2"), []byte("4711"), []byte(`"a":1`))
	for outputs, want := range map[string]string{
		`{"a":1.10, "b":[1e3]}`:                `{"a":1.10, "b":[1e3]}`, // as it came
		`{"a":1,"b":{"xhunter2":[4711,"h2"]}}`: `{"a":1,"b":{"x***":["***","h2"]}}`,
		`{"a":"\u0068unter2","b":1.10}`:        `{"a":"***","b":1.10}`,
		`{"a":"aHVudGVyMg==","b":"\"a\":1"}`:   `{"a":"***","b":"***"}`,
		``:                                     ``,
	} {
		if got, err := maskOutputs([]byte(outputs), mask); string(got) != want || err != nil {
			t.Errorf("%s becomes %s, %v; want %s", outputs, got, err, want)
		}
	}
	if got, err := maskOutputs([]byte(`{"khunter2":1}`), mask); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a key becomes %s, %v", got, err)
	}
}
