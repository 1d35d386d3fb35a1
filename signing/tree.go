package signing

import (
	"crypto/sha256"
	"encoding/binary"
)

// A Merkle tree has a leaf for each message. A node is the hash of the two below it; one without a sibling goes up as it
// is. Leaves and nodes are hashed with different first bytes, so that neither can stand in the place of the other (RFC
// 6962, section 2.1).

type hash = [sha256.Size]byte

const (
	markLeaf = 0
	markNode = 1
)

// MaxBatch is how many messages may share a signature.
const MaxBatch = 64

// maxPath is the longest path of such a tree.
const maxPath = 6

// leaf hashes a message. Each part has its length before it, so that no two messages have the same bytes.
func leaf(m *Message) hash {
	room := make([]byte, 0, 512)
	room = append(room, markLeaf)
	for _, part := range []string{m.Purpose, m.Subject, m.Mark} {
		room = binary.BigEndian.AppendUint32(room, uint32(len(part)))
		room = append(room, part...)
	}
	state := sha256.New()
	state.Write(room)
	state.Write(m.Body)
	var sum hash
	state.Sum(sum[:0])
	return sum
}

func node(left, right hash) hash {
	var room [1 + 2*sha256.Size]byte
	room[0] = markNode
	copy(room[1:], left[:])
	copy(room[1+sha256.Size:], right[:])
	return sha256.Sum256(room[:])
}

// grow returns the root of some leaves, at least one, and the path of each.
func grow(leaves []hash) (root hash, paths [][]hash) {
	paths = make([][]hash, len(leaves))
	level, span := leaves, 1 // span is how many leaves are below a node of the level, the last one's excepted
	for ; len(level) > 1; span *= 2 {
		for i := range paths {
			if sibling := i/span ^ 1; sibling < len(level) {
				paths[i] = append(paths[i], level[sibling])
			}
		}
		above := make([]hash, 0, (len(level)+1)/2)
		for i := 0; i < len(level); i += 2 {
			if i+1 < len(level) {
				above = append(above, node(level[i], level[i+1]))
			} else {
				above = append(above, level[i])
			}
		}
		level = above
	}
	return level[0], paths
}

// climb returns the root that a leaf and its path lead to; false if no tree of that size has such a path.
func climb(from hash, index, size int, path []hash) (root hash, ok bool) {
	if index < 0 || index >= size {
		return hash{}, false
	}
	root = from
	for ; size > 1; index, size = index/2, (size+1)/2 {
		if index^1 >= size {
			continue
		}
		if len(path) == 0 {
			return hash{}, false
		}
		if index%2 == 0 {
			root = node(root, path[0])
		} else {
			root = node(path[0], root)
		}
		path = path[1:]
	}
	return root, len(path) == 0
}
