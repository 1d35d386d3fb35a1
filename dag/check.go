package dag

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check returns every fault of the tasks, or nil. It does not judge what a name
// may be made of.
func Check(tasks []Task) Faults {
	faults, _ := check(tasks)
	return faults
}

// check returns the graph too, whole only if there is no fault.
func check(tasks []Task) (Faults, *Graph) {
	c := &checker{tasks: tasks, graph: &Graph{
		names:      make([]string, len(tasks)),
		index:      make(map[string]int, len(tasks)),
		needs:      make([][]int32, len(tasks)),
		dependants: make([][]int32, len(tasks)),
	}}
	switch {
	case len(tasks) == 0:
		c.add(NoTasks, -1, -1, "", "is empty: a DAG has at least one task")
		return c.faults, c.graph
	case len(tasks) > MaxTasks:
		c.add(TooManyTasks, -1, -1, "", fmt.Sprintf("has %d tasks: use at most %d, or let one task run over a list with for_each", len(tasks), MaxTasks))
		return c.faults, c.graph
	}
	c.checkNames()
	c.checkNeeds()
	c.checkRoots()
	c.checkOrder()
	return c.faults, c.graph
}

type checker struct {
	tasks  []Task
	graph  *Graph
	faults Faults
}

func (c *checker) add(kind Kind, task, need int, name, message string) {
	fault := Fault{Kind: kind, Task: task, Need: need, Name: name, Message: message}
	if task >= 0 {
		fault.task = shorten(c.tasks[task].Name)
	}
	c.faults = append(c.faults, fault)
}

func (c *checker) checkNames() {
	folded := make(map[string]int, len(c.tasks))
	for i, task := range c.tasks {
		c.graph.names[i] = task.Name
		if first, repeated := c.graph.index[task.Name]; repeated {
			c.add(RepeatedName, i, -1, task.Name, fmt.Sprintf("is given twice: tasks %d and %d have this name", first+1, i+1))
			continue
		}
		c.graph.index[task.Name] = i
		fold := strings.ToLower(task.Name)
		if first, near := folded[fold]; near {
			other := c.tasks[first].Name
			c.add(NamesByCase, i, -1, other, "differs from task "+quote(other)+" in upper and lower case only: people would take one for the other, so rename it")
			continue
		}
		folded[fold] = i
	}
}

func (c *checker) checkNeeds() {
	for i, task := range c.tasks {
		c.graph.needs[i] = make([]int32, 0, len(task.Needs))
		needed := make(map[string]bool, len(task.Needs))
		for n, name := range task.Needs {
			need, known := c.graph.index[name]
			switch {
			case name == task.Name:
				c.add(SelfNeed, i, n, name, "is the task itself, which would wait for itself forever: remove it")
			case needed[name]:
				c.add(RepeatedNeed, i, n, name, "repeats "+quote(name)+": list each need once")
			case !known:
				c.add(UnknownNeed, i, n, name, "is "+quote(name)+", which is not a task of this DAG")
			default:
				c.graph.needs[i] = append(c.graph.needs[i], int32(need))
				c.graph.dependants[need] = append(c.graph.dependants[need], int32(i))
			}
			needed[name] = true
		}
	}
}

func (c *checker) checkRoots() {
	scheduled := -1
	for i, task := range c.tasks {
		if task.Scheduled && len(task.Needs) == 0 {
			scheduled = i
			break
		}
	}
	for i, task := range c.tasks {
		if task.Trigger != "" && !task.Trigger.Valid() {
			c.add(UnknownTrigger, i, -1, string(task.Trigger), "has no trigger rule "+quote(string(task.Trigger)))
		}
		if len(task.Needs) > 0 {
			continue
		}
		if task.Trigger != "" && task.Trigger != AllSuccess {
			c.add(RootTrigger, i, -1, string(task.Trigger), "has a trigger rule, but no needs to judge by: remove trigger, or add needs")
		}
		if scheduled >= 0 && !task.Scheduled {
			other := c.tasks[scheduled].Name
			c.add(Unscheduled, i, -1, other, "needs nothing and has no schedule, but "+quote(other)+" has one: give it a schedule, give the DAG one, or let it need another task")
		}
	}
}

// checkOrder sorts the tasks after what they need (Kahn's algorithm). What
// cannot be sorted is in a cycle, or comes after one.
func (c *checker) checkOrder() {
	g := c.graph
	open := make([]int32, len(c.tasks))
	g.order = make([]int32, 0, len(c.tasks))
	for i := range c.tasks {
		open[i] = int32(len(g.needs[i]))
		if open[i] == 0 {
			g.order = append(g.order, int32(i))
		}
	}
	for done := 0; done < len(g.order); done++ {
		for _, dependant := range g.dependants[g.order[done]] {
			if open[dependant]--; open[dependant] == 0 {
				g.order = append(g.order, dependant)
			}
		}
	}
	if len(g.order) == len(c.tasks) {
		return
	}
	blocked := make([]bool, len(c.tasks))
	for i := range c.tasks {
		blocked[i] = open[i] > 0
	}
	inCycle := c.reportCycles(blocked)
	for i := range c.tasks {
		if !blocked[i] || inCycle[i] {
			continue
		}
		for n, need := range g.needs[i] {
			if blocked[need] {
				name := c.tasks[need].Name
				what := "which can never run either"
				if inCycle[need] {
					what = "which is part of a cycle"
				}
				c.add(Unreachable, i, c.needIndex(i, n), name, "is "+quote(name)+", "+what+", so this task is never reached")
				break
			}
		}
	}
}

// needIndex is the index in the task's Needs of its n-th known need.
func (c *checker) needIndex(task, n int) int {
	name := c.tasks[c.graph.needs[task][n]].Name
	for i, need := range c.tasks[task].Needs {
		if need == name {
			return i
		}
	}
	return -1
}

// quote shows what a user wrote, shortened so that a message stays a sentence.
func quote(text string) string { return strconv.Quote(shorten(text)) }

func shorten(text string) string {
	const longest = 63
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + "…"
}
