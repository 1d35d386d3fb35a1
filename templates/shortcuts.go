package templates

// shortcutGroup is some keys that belong together.
type shortcutGroup struct {
	name      string
	shortcuts []shortcut
}

// shortcut is what keys do. Keys of one way stand in one list; there may be more ways.
type shortcut struct {
	ways  [][]string
	words string
}

// shortcutGroups are what static/src/js/keys.js listens to, and the pages that have keys of their own.
var shortcutGroups = []shortcutGroup{
	{"Everywhere", []shortcut{
		{[][]string{{"Ctrl", "K"}, {"⌘", "K"}}, "search, and do anything by name"},
		{[][]string{{"?"}}, "show these shortcuts"},
		{[][]string{{"/"}}, "go to the filter of the page"},
		{[][]string{{"n"}}, "new job"},
		{[][]string{{"u"}}, "undo a deletion, for ten seconds"},
		{[][]string{{"Esc"}}, "close what is open"},
	}},
	{"Go to", goShortcuts()},
	{"In tables", []shortcut{
		{[][]string{{"j"}, {"↓"}}, "next row; the arrow once a row has the focus"},
		{[][]string{{"k"}, {"↑"}}, "row before"},
		{[][]string{{"Enter"}}, "open it"},
	}},
	{"In the timeline", []shortcut{
		{[][]string{{"+"}}, "zoom in; also with Ctrl and the wheel"},
		{[][]string{{"-"}}, "zoom out"},
		{[][]string{{"Shift", "←"}}, "earlier"},
		{[][]string{{"Shift", "→"}}, "later"},
		{[][]string{{"0"}}, "now"},
		{[][]string{{"←"}, {"→"}, {"↑"}, {"↓"}}, "from run to run, and from job to job"},
	}},
	{"Where a job is written", []shortcut{
		{[][]string{{"Ctrl", "S"}, {"⌘", "S"}}, "save"},
		{[][]string{{"Ctrl", "Space"}}, "complete, in the YAML"},
		{[][]string{{"Ctrl", "Z"}, {"⌘", "Z"}}, "undo, in the YAML: changes of the form, too"},
		{[][]string{{"Ctrl", "F"}, {"⌘", "F"}}, "find, in the YAML"},
	}},
}

// goShortcuts are "g" and the first letter of each section.
func goShortcuts() []shortcut {
	list := make([]shortcut, len(sections))
	for i, s := range sections {
		list[i] = shortcut{[][]string{{"g", string(s.section[:1])}}, s.name}
	}
	return list
}
