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
		{"needs of d", []int{1, 2, 0}, slices.Collect(graph.Needs(3))},
		{"upstream of e", []int{0, 1, 2, 3}, graph.Upstream(4)},
		{"upstream of a", []int(nil), graph.Upstream(0)},
		{"downstream of b", []int{3, 4}, graph.Downstream(1)},
		{"levels", []int{0, 1, 1, 2, 3, 0}, graph.Levels()},
		{"reduced", [][]int{nil, {0}, {0}, {1, 2}, {3}, nil}, graph.Reduced()},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s differ (-want +got):\n%s", test.what, diff)
		}
	}
}

// spansOf makes spans of pairs of seconds; a pair of zeros has not run.
func spansOf(pairs ...[2]int) []dag.Span {
	spans := make([]dag.Span, len(pairs))
	begin := time.Unix(1e9, 0)
	for i, pair := range pairs {
		if pair != [2]int{} {
			spans[i] = dag.Span{From: begin.Add(time.Duration(pair[0]) * time.Second), To: begin.Add(time.Duration(pair[1]) * time.Second)}
		}
	}
	return spans
}

func TestCriticalPath(t *testing.T) {
	graph := graphOf(t, diamond)
	for name, test := range map[string]struct {
		spans []dag.Span
		want  []int
	}{
		"the slower branch":                      {spansOf([2]int{1, 2}, [2]int{2, 4}, [2]int{2, 5}, [2]int{5, 6}, [2]int{6, 7}, [2]int{1, 2}), []int{0, 2, 3, 4}},
		"the branch that began late":             {spansOf([2]int{1, 2}, [2]int{9, 10}, [2]int{2, 8}, [2]int{10, 11}, [2]int{11, 12}, [2]int{1, 2}), []int{0, 1, 3, 4}},
		"of equals the first":                    {spansOf([2]int{1, 2}, [2]int{2, 4}, [2]int{2, 4}, [2]int{4, 5}, [2]int{5, 6}, [2]int{1, 2}), []int{0, 1, 3, 4}},
		"what stands alone":                      {spansOf([2]int{1, 2}, [2]int{2, 4}, [2]int{2, 4}, [2]int{4, 5}, [2]int{5, 6}, [2]int{1, 20}), []int{5}},
		"through what was skipped":               {spansOf([2]int{1, 2}, [2]int{}, [2]int{}, [2]int{5, 6}, [2]int{6, 7}, [2]int{}), []int{0, 3, 4}},
		"a need that ended later held nobody up": {spansOf([2]int{1, 2}, [2]int{2, 4}, [2]int{2, 50}, [2]int{4, 60}, [2]int{60, 61}, [2]int{1, 2}), []int{0, 1, 3, 4}},
		"a need that ran again after the resume": {spansOf([2]int{1, 2}, [2]int{30, 40}, [2]int{30, 41}, [2]int{5, 6}, [2]int{6, 7}, [2]int{1, 2}), []int{0, 2}},
		"clocks that differ by less than a task": {spansOf([2]int{1, 3}, [2]int{2, 5}, [2]int{2, 4}, [2]int{5, 7}, [2]int{6, 8}, [2]int{1, 2}), []int{0, 1, 3, 4}},
		"nothing has run":                        {spansOf([2]int{}, [2]int{}, [2]int{}, [2]int{}, [2]int{}, [2]int{}), nil},
	} {
		if diff := cmp.Diff(test.want, graph.CriticalPath(test.spans)); diff != "" {
			t.Errorf("%s: path differs (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever ran when, the path ends with what ended last, only holds what ran, goes along needs, and no task of it ended
// before the previous one.
func TestCriticalPathNeverGoesBackInTime(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		graph, err := dag.New(drawTasks(r))
		if err != nil {
			r.Fatal(err)
		}
		pairs := make([][2]int, graph.Len())
		last := 0
		for i := range pairs {
			if from := rapid.IntRange(0, 20).Draw(r, "from"); from > 0 {
				pairs[i] = [2]int{from, from + rapid.IntRange(0, 5).Draw(r, "duration")}
				last = max(last, pairs[i][1])
			}
		}
		path := graph.CriticalPath(spansOf(pairs...))
		if len(path) == 0 {
			if last > 0 {
				r.Fatal("a task ran, and there is no path")
			}
			return
		}
		if pairs[path[len(path)-1]][1] != last {
			r.Fatalf("%v does not end with what ended last", path)
		}
		for i, task := range path {
			switch {
			case pairs[task] == [2]int{}:
				r.Fatalf("task %d of %v has not run", task, path)
			case i > 0 && pairs[task][1] < pairs[path[i-1]][1]:
				r.Fatalf("task %d of %v ended before the one before it", task, path)
			case i > 0 && !slices.Contains(graph.Upstream(task), path[i-1]):
				r.Fatalf("task %d of %v does not need the one before it", task, path)
			}
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
		t.Error("a stopped fan continues, or forgets the item that runs")
	}
	fan.Ended(0, dag.Succeeded)
	if fan.Outcome() != dag.Cancelled || fan.Count(dag.Cancelled) != 2 {
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
