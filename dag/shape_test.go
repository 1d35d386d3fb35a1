package dag_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidewheel/tidewheel/dag"
)

// d needs a too, which b and c say already.
const diamond = "a; b: a; c: a; d: b c a; e: d; lone"

func TestShape(t *testing.T) {
	graph := graphOf(t, diamond)
	task, known := graph.Index("d")
	if _, missing := graph.Index("x"); !known || missing || graph.Name(task) != "d" || graph.Len() != 6 {
		t.Errorf("d is task %d, known is %v; x is known: %v", task, known, missing)
	}
	for _, test := range []struct {
		what      string
		want, got any
	}{
		{"roots", []int{0, 5}, graph.Roots()},
		{"leaves", []int{4, 5}, graph.Leaves()},
		{"needs of d", []int{1, 2, 0}, slices.Collect(graph.Needs(3))},
		{"dependants of a", []int{1, 2, 3}, slices.Collect(graph.Dependants(0))},
		{"upstream of e", []int{0, 1, 2, 3}, graph.Upstream(4)},
		{"upstream of a", []int(nil), graph.Upstream(0)},
		{"downstream of b", []int{3, 4}, graph.Downstream(1)},
		{"levels", []int{0, 1, 1, 2, 3, 0}, graph.Levels()},
		{"layers", [][]int{{0, 5}, {1, 2}, {3}, {4}}, graph.Layers()},
		{"reduced", [][]int{nil, {0}, {0}, {1, 2}, {3}, nil}, graph.Reduced()},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s differ (-want +got):\n%s", test.what, diff)
		}
	}
}

func TestCriticalPath(t *testing.T) {
	graph := graphOf(t, diamond)
	for _, test := range []struct {
		seconds []int
		want    []int
		total   int
	}{
		{[]int{1, 2, 3, 1, 1, 1}, []int{0, 2, 3, 4}, 6},
		{[]int{1, 5, 3, 1, 1, 1}, []int{0, 1, 3, 4}, 8},
		{[]int{1, 2, 2, 1, 1, 1}, []int{0, 1, 3, 4}, 5},
		{[]int{1, 2, 2, 1, 1, 9}, []int{5}, 9},
		{[]int{0, 0, 0, 0, 0, 0}, []int{0, 3, 4}, 0},
	} {
		durations := make([]time.Duration, len(test.seconds))
		for i, seconds := range test.seconds {
			durations[i] = time.Duration(seconds) * time.Second
		}
		path, total := graph.CriticalPath(durations)
		if diff := cmp.Diff(test.want, path); diff != "" || total != time.Duration(test.total)*time.Second {
			t.Errorf("%v: total %s, path differs (-want +got):\n%s", test.seconds, total, diff)
		}
	}
}

// No way through the DAG is longer, and the path is a way.
func TestCriticalPathIsTheLongestWay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		graph, err := dag.New(drawTasks(r))
		if err != nil {
			r.Fatal(err)
		}
		durations := make([]time.Duration, graph.Len())
		for i := range durations {
			durations[i] = time.Duration(rapid.IntRange(0, 5).Draw(r, "duration"))
		}
		path, total := graph.CriticalPath(durations)
		var sum time.Duration
		for i, task := range path {
			sum += durations[task]
			if i == 0 && !graph.Root(task) || i > 0 && !slices.Contains(slices.Collect(graph.Needs(task)), path[i-1]) {
				r.Fatalf("%v is no way from a root", path)
			}
		}
		var longest func(task int) time.Duration
		longest = func(task int) time.Duration {
			var before time.Duration
			for need := range graph.Needs(task) {
				before = max(before, longest(need))
			}
			return before + durations[task]
		}
		var want time.Duration
		for task := range graph.Len() {
			want = max(want, longest(task))
		}
		if sum != total || total != want {
			r.Fatalf("total %d, sum of the path %d, want %d", total, sum, want)
		}
	})
}

// Leaving out what other needs say already changes nothing that is reached.
func TestReducedReachesTheSame(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		list := drawTasks(r)
		graph, err := dag.New(list)
		if err != nil {
			r.Fatal(err)
		}
		lean := slices.Clone(list)
		for task, needs := range graph.Reduced() {
			lean[task].Needs, lean[task].Trigger = nil, ""
			for _, need := range needs {
				lean[task].Needs = append(lean[task].Needs, list[need].Name)
			}
		}
		reduced, err := dag.New(lean)
		if err != nil {
			r.Fatal(err)
		}
		for task := range list {
			if diff := cmp.Diff(graph.Upstream(task), reduced.Upstream(task)); diff != "" {
				r.Fatalf("upstream of %s differs (-want +got):\n%s", list[task].Name, diff)
			}
			for i, need := range lean[task].Needs {
				fewer := slices.Delete(slices.Clone(lean[task].Needs), i, i+1)
				for _, other := range fewer {
					index, _ := graph.Index(other)
					needed, _ := graph.Index(need)
					if slices.Contains(graph.Upstream(index), needed) {
						r.Fatalf("%s is said by %s already", need, other)
					}
				}
			}
		}
	})
}

func TestFan(t *testing.T) {
	fan, err := dag.NewFan(5, 2)
	if err != nil {
		t.Fatal(err)
	}
	takeItems := func() (items []int) {
		for item, ok := fan.Take(); ok; item, ok = fan.Take() {
			items = append(items, item)
		}
		return items
	}
	check := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", what, diff)
		}
	}
	check("a new fan gives out", []int{0, 1}, takeItems())
	check("the end of an item", true, fan.Ended(1, dag.Failed))
	check("the same again", false, fan.Ended(1, dag.Succeeded))
	check("what is then given out", []int{2}, takeItems())
	check("a started item", true, fan.Started(3))
	for _, item := range []int{0, 2, 3} {
		fan.Ended(item, dag.Succeeded)
	}
	check("outcome before the end", dag.Running, fan.Outcome())
	check("the last", []int{4}, takeItems())
	fan.Ended(4, dag.Succeeded)
	check("done", true, fan.Done())
	check("outcome", dag.Failed, fan.Outcome())
}

func TestFanStops(t *testing.T) {
	fan, err := dag.NewFan(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	fan.Take()
	fan.Stop()
	if _, ok := fan.Take(); ok || fan.Done() {
		t.Error("a stopped fan goes on, or forgets the item that runs")
	}
	fan.Ended(0, dag.Succeeded)
	if fan.Outcome() != dag.Cancelled || fan.Count(dag.Cancelled) != 2 || fan.State(0) != dag.Succeeded {
		t.Errorf("outcome %s, %d cancelled", fan.Outcome(), fan.Count(dag.Cancelled))
	}
}

func TestFanOfAnySize(t *testing.T) {
	empty, err := dag.NewFan(0, 8)
	if err != nil || !empty.Done() || empty.Outcome() != dag.Skipped {
		t.Errorf("an empty list: %v, outcome %s", err, empty.Outcome())
	}
	large, err := dag.NewFan(dag.MaxItems, 0)
	if err != nil || large.Len() != dag.MaxItems {
		t.Errorf("%d items: %v", dag.MaxItems, err)
	}
	const want = "the list has 10001 items: for_each takes at most 10000, so let one run do several of them"
	if _, err := dag.NewFan(dag.MaxItems+1, 0); err == nil || err.Error() != want {
		t.Errorf("%d items: %v", dag.MaxItems+1, err)
	}
}
