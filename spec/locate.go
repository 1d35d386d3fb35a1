package spec

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Locate returns where a key of the document stands in its file, by its path ("tasks.join.secrets.KEY"); of a path that goes
// deeper than the document, the place of what there is of it. 0, 0 if the document has no Source.
func (d Document) Locate(path string) (line, column int) {
	var root yaml.Node
	if d.Source == "" || yaml.Unmarshal([]byte(d.Source), &root) != nil || len(root.Content) == 0 {
		return 0, 0
	}
	node := root.Content[0]
	before := d.Line - node.Line // lines of the file above the source
	for key := range strings.SplitSeq(path, ".") {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		if node.Kind != yaml.MappingNode {
			break
		}
		found := false
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				line, column, found = node.Content[i].Line+before, node.Content[i].Column, true
				node = node.Content[i+1]
				break
			}
		}
		if !found {
			break
		}
	}
	return line, column
}
