package dag_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tidewheel/tidewheel/dag"
)

// tasks reads "a; b: a; c: a b one_failed; d@" as tasks: a word that names a rule is one, @ marks a schedule.
func tasks(text string) []dag.Task {
	var list []dag.Task
	for line := range strings.SplitSeq(text, ";") {
		name, needs, _ := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		task := dag.Task{Name: strings.TrimSuffix(name, "@"), Scheduled: strings.HasSuffix(name, "@")}
		for word := range strings.FieldsSeq(needs) {
			if dag.Trigger(word).Valid() {
				task.Trigger = dag.Trigger(word)
			} else {
				task.Needs = append(task.Needs, word)
			}
		}
		list = append(list, task)
	}
	return list
}

func graphOf(t testing.TB, text string) *dag.Graph {
	t.Helper()
	graph, err := dag.New(tasks(text))
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	for _, test := range []struct {
		name, tasks string
		want        []string
	}{
		{"sound", "a; b: a; c: a b", nil},
		{"sound with schedules", "a@; b@; c: a b", nil},
		{"self-need", "a; b: a b", []string{"tasks.b.needs[1] is the task itself, which would wait for itself forever: remove it"}},
		{"unknown", "a; b: c", []string{`tasks.b.needs[0] is "c", which is not a task of this DAG`}},
		{"another DAG's", "a; b: other.a", []string{`tasks.b.needs[0] is "other.a", which is not a task of this DAG`}},
		{"repeated need", "a; b: a a", []string{`tasks.b.needs[1] repeats "a": list each need once`}},
		{"repeated name", "a; b: a; a", []string{"tasks.a is given twice: tasks 1 and 3 have this name"}},
		{"names by case", "load; Load: load", []string{`tasks.Load differs from task "load" in upper and lower case only: people would take one for the other, so rename it`}},
		{"cycle of three", "a: c; b: a; c: b", []string{"tasks.a.needs[0] closes a cycle, a -> b -> c -> a: each waits for the one before it, so remove one of these needs"}},
		{"cycle behind a root, and what it keeps from running", "r; a: r b; b: a; c: b; d: r c", []string{
			"tasks.a.needs[1] closes a cycle, a -> b -> a: each waits for the one before it, so remove one of these needs",
			`tasks.c.needs[0] is "b", which is part of a cycle, so this task is never reached`,
			`tasks.d.needs[1] is "c", which can never run either, so this task is never reached`,
		}},
		{"two cycles", "a: b; b: a; c: d b; d: c", []string{
			"tasks.a.needs[0] closes a cycle, a -> b -> a: each waits for the one before it, so remove one of these needs",
			"tasks.c.needs[0] closes a cycle, c -> d -> c: each waits for the one before it, so remove one of these needs",
		}},
		{"the shortest cycle of a knot", "a: c d; b: a; c: b; d: a", []string{
			"tasks.a.needs[1] closes a cycle, a -> d -> a: each waits for the one before it, so remove one of these needs",
		}},
		{"root without schedule", "a@; b; c: a b", []string{
			`tasks.b needs nothing and has no schedule, but "a" has one: give it a schedule, give the DAG one, or let it need another task`,
		}},
		{"rule on a root", "a: one_failed", []string{"tasks.a has a trigger rule, but no needs to judge by: remove trigger, or add needs"}},
		{"default rule on a root", "a: all_success", nil},
		{"many", "a@: all_done; A; b: x b x", []string{
			`tasks.A differs from task "a" in upper and lower case only: people would take one for the other, so rename it`,
			`tasks.b.needs[0] is "x", which is not a task of this DAG`,
			`tasks.b.needs[1] is the task itself, which would wait for itself forever: remove it`,
			`tasks.b.needs[2] repeats "x": list each need once`,
			"tasks.a has a trigger rule, but no needs to judge by: remove trigger, or add needs",
			`tasks.A needs nothing and has no schedule, but "a" has one: give it a schedule, give the DAG one, or let it need another task`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, fault := range dag.Check(tasks(test.tasks)) {
				got = append(got, fault.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults differ (-want +got):\n%s", diff)
			}
			graph, err := dag.New(tasks(test.tasks))
			if (graph == nil) != (len(test.want) > 0) {
				t.Errorf("New gave %v and %v", graph, err)
			}
			if faults, found := errors.AsType[dag.Faults](err); found != (len(test.want) > 0) || len(faults) != len(test.want) {
				t.Errorf("New's error is %v", err)
			}
		})
	}
}

func TestFaultsSayWhichTaskAndNeed(t *testing.T) {
	got := dag.Check(tasks("a; b: a x; c: b a c"))
	want := dag.Faults{
		{Kind: dag.UnknownNeed, Task: 1, Need: 1, Name: "x"},
		{Kind: dag.SelfNeed, Task: 2, Need: 2, Name: "c"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(dag.Fault{}), cmpopts.IgnoreFields(dag.Fault{}, "Message")); diff != "" {
		t.Errorf("faults differ (-want +got):\n%s", diff)
	}
}

func TestUnknownRuleIsRefused(t *testing.T) {
	faults := dag.Check([]dag.Task{{Name: "a"}, {Name: "b", Needs: []string{"a"}, Trigger: "all_failed"}})
	if len(faults) != 1 || faults[0].Kind != dag.UnknownTrigger || faults[0].Task != 1 {
		t.Errorf("faults are %v", faults)
	}
}

func TestSizeIsBounded(t *testing.T) {
	for _, test := range []struct {
		count int
		want  string
	}{
		{0, "tasks is empty: a DAG has at least one task"},
		{dag.MaxTasks, ""},
		{dag.MaxTasks + 1, "tasks has 10001 tasks: use at most 10000, or let one task run over a list with for_each"},
		{50_000, "tasks has 50000 tasks: use at most 10000, or let one task run over a list with for_each"},
	} {
		if got := dag.Check(chain(test.count)).Error(); got != test.want {
			t.Errorf("%d tasks: %q, want %q", test.count, got, test.want)
		}
	}
}

func TestLongCyclesAreAbbreviated(t *testing.T) {
	list := chain(dag.MaxTasks)
	list[0].Needs = []string{list[dag.MaxTasks-1].Name}
	faults := dag.Check(list)
	const want = "tasks.t0.needs[0] closes a cycle, t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> (9988 more) -> t9994 -> t9995 -> t9996 -> t9997 -> t9998 -> t9999 -> t0: " +
		"each waits for the one before it, so remove one of these needs"
	if got := faults.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// chain is t0 <- t1 <- t2 …
func chain(count int) []dag.Task {
	list := make([]dag.Task, count)
	for i := range list {
		list[i].Name = fmt.Sprintf("t%d", i)
		if i > 0 {
			list[i].Needs = []string{fmt.Sprintf("t%d", i-1)}
		}
	}
	return list
}

// layered is count tasks in layers of so many, each of which needs the whole layer before.
func layered(count, width int) []dag.Task {
	list := make([]dag.Task, count)
	for i := range list {
		list[i].Name = fmt.Sprintf("t%d", i)
		for before := (i/width - 1) * width; i >= width && before < i/width*width; before++ {
			list[i].Needs = append(list[i].Needs, fmt.Sprintf("t%d", before))
		}
	}
	return list
}

func BenchmarkCheck(b *testing.B) {
	for _, list := range []struct {
		name  string
		tasks []dag.Task
	}{{"chain of 10000", chain(10_000)}, {"layers of 10 of 10000", layered(10_000, 10)}} {
		b.Run(list.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if faults := dag.Check(list.tasks); faults != nil {
					b.Fatal(faults)
				}
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("a; b: a; c: a b one_failed; d@")
	f.Add("a: c; b: a; c: b; d: c; D@: all_done")
	f.Add(";;:;: a a;a:;a@:@")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		list := tasks(text)
		graph, err := dag.New(list)
		faults := dag.Check(list)
		if (err == nil) != (len(faults) == 0) {
			t.Fatalf("New says %v, Check %v", err, faults)
		}
		for _, fault := range faults {
			if fault.Error() == "" || fault.Kind == 0 || fault.Task >= len(list) || fault.Task < 0 || fault.Need >= len(list[fault.Task].Needs) {
				t.Errorf("a fault without a place: %+v", fault)
			}
		}
		if acyclic(list) != !hasKind(faults, dag.Cycle) && !hasKind(faults, dag.RepeatedName) {
			t.Errorf("acyclic is %v, but the faults are %v", acyclic(list), faults)
		}
		if graph == nil {
			return
		}
		place := make([]int, graph.Len())
		for i, task := range graph.Order() {
			place[task] = i
		}
		for task := range graph.Len() {
			for need := range graph.Needs(task) {
				if place[need] >= place[task] {
					t.Errorf("%s comes before %s, which it needs", graph.Name(task), graph.Name(need))
				}
			}
		}
	})
}

func hasKind(faults dag.Faults, kind dag.Kind) bool {
	for _, fault := range faults {
		if fault.Kind == kind {
			return true
		}
	}
	return false
}

// acyclic takes away tasks whose needs are all gone until nothing changes; needs of oneself do not count.
func acyclic(list []dag.Task) bool {
	left := map[string][]string{}
	for _, task := range list {
		left[task.Name] = task.Needs
	}
	for changed := true; changed; {
		changed = false
		for name, needs := range left {
			blocked := false
			for _, need := range needs {
				if _, waits := left[need]; waits && need != name {
					blocked = true
				}
			}
			if !blocked {
				delete(left, name)
				changed = true
			}
		}
	}
	// What is left is in a cycle or behind one.
	return len(left) == 0
}
