package spec

import (
	"strings"
	"testing"
)

func TestEachDocumentHasItsOwnText(t *testing.T) {
	const a, b = "kind: Job\nname: a\nbinary: x\n", "kind: Job\nname: b\nbinary: x # the program\n"
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"one":                       {"# above\n\n" + a + "# below\n", []string{"# above\n\n" + a + "# below\n"}},
		"two":                       {a + "# of a\n---\n# of b\n" + b, []string{a + "# of a\n", "# of b\n" + b}},
		"comments before the mark":  {"# all\n---\n" + a, []string{"# all\n" + a}},
		"a directive":               {"%YAML 1.1\n# all\n---\n" + a + "---\n" + b, []string{"# all\n" + a, b}},
		"a comment beside the mark": {"--- # first\n" + a + "--- # second\n" + b, []string{"# first\n" + a, "# second\n" + b}},
		"content beside the mark":   {"--- {kind: Job, name: a,\n  binary: x}\n", []string{"{kind: Job, name: a,\n  binary: x}\n"}},
		"ends":                      {a + "...\n---\n# of b\n" + b + "... # end\n---\n", []string{a + "...\n", "# of b\n" + b + "... # end\n"}},
		"Windows":                   {strings.ReplaceAll("# é\n"+a+"---\n"+b, "\n", "\r\n"), []string{strings.ReplaceAll("# é\n"+a, "\n", "\r\n"), strings.ReplaceAll(b, "\n", "\r\n")}},
		"old Macintosh":             {strings.ReplaceAll(a, "\n", "\r"), []string{strings.ReplaceAll(a, "\n", "\r")}},
		"empty documents":           {"---\n# nothing\n---\n" + a + "---\n", []string{a}},
		"empty lines above":         {"\n \n" + a + "\n---\n\n" + b + "\n\n", []string{a + "\n", b + "\n\n"}},
		"JSON":                      {`{"kind": "Job", "name": "a", "binary": "x"}`, []string{""}},
		"as long as can be":         {a + strings.Repeat("#", MaxSource-len(a)), []string{a + strings.Repeat("#", MaxSource-len(a))}},
		"too long":                  {a + strings.Repeat("#", MaxSource-len(a)+1), []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			documents, problems := Decode("", []byte(test.file))
			if len(problems) > 0 || len(documents) != len(test.want) {
				t.Fatalf("%d documents, problems: %v", len(documents), problems)
			}
			for i, document := range documents {
				if document.Source != test.want[i] {
					t.Errorf("document %d: got %.200q, want %.200q", i, document.Source, test.want[i])
				}
				text, err := Text(document.Job, document.Source)
				if err != nil || document.Source != "" && string(text) != document.Source {
					t.Errorf("document %d: its text does not mean it: %.200q, %v", i, text, err)
				}
			}
		})
	}
}

func TestTextIsWhatWasWrittenWhileItMeansTheSame(t *testing.T) {
	const written = "# why\nname: a\nkind: Job\nbinary: x\n"
	documents, problems := Decode("", []byte(written))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	job := documents[0].Job
	encoded, err := Encode(job)
	if err != nil {
		t.Fatal(err)
	}
	other := job.Clone()
	other.Description = "changed by another program"
	changed, err := Encode(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		job          *Job
		source, want string
	}{
		"the same":       {job, written, written},
		"none":           {job, "", string(encoded)},
		"another":        {other, written, string(changed)},
		"not understood": {job, "# why\nname: [", string(encoded)},
		"two":            {job, written + "---\nkind: Job\nname: b\nbinary: x\n", string(encoded)},
		"a DAG":          {job, "kind: DAG\nname: a\ntasks: {b: {binary: x}}\n", string(encoded)},
	} {
		if text, err := Text(test.job, test.source); err != nil || string(text) != test.want {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, test.want)
		}
	}
	const dag = "# why\nkind: DAG\nname: a\ntasks: {b: {binary: x}}\n"
	documents, problems = Decode("", []byte(dag))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if text, err := TextDAG(documents[0].DAG, dag); err != nil || string(text) != dag {
		t.Errorf("DAG: got %q, %v", text, err)
	}
	if text, err := TextDAG(documents[0].DAG, written); err != nil || string(text) == written {
		t.Errorf("a DAG with the source of a job: got %q, %v", text, err)
	}
}
