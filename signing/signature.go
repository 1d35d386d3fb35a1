package signing

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Message is what is signed: all that decides what becomes of it.
type Message struct {
	Purpose string // a word for each kind of message, so that none is taken for one of another kind
	Subject string // where it stands
	Mark    string // what is said of it beside its body
	Body    []byte
}

// Why a message is refused.
var (
	// ErrUnsigned means that there is no signature, or none that can be read.
	ErrUnsigned = errors.New("it has no valid signature")
	// ErrUnknownKey means that it is signed, or says so, with a key that is not trusted here.
	ErrUnknownKey = errors.New("it is signed with a key that is not trusted here")
	// ErrAltered means that it is not what was signed.
	ErrAltered = errors.New("it is not what was signed")
)

var errNoPrivate = errors.New("there is no private key of tasks here: give engines --task-keys-file")

// version begins each signature, and what is signed.
const version = "1"

// statement is what Ed25519 signs: when, how many leaves, and the root over them.
func statement(at int64, size int, root *hash) []byte {
	text := make([]byte, 0, 80)
	text = append(text, "tidewheel signature "+version+"\x00"...)
	text = binary.BigEndian.AppendUint64(text, uint64(at))
	text = binary.BigEndian.AppendUint32(text, uint32(size))
	return append(text, root[:]...)
}

// signature is one in its parts. Written, they stand in this order with dots between them.
type signature struct {
	key   string // id
	at    int64  // Unix milliseconds
	index int    // of the message's leaf
	size  int    // how many leaves there are
	path  []hash
	proof [ed25519.SignatureSize]byte
}

var encoding = base64.RawURLEncoding.Strict()

func (s *signature) String() string {
	path := make([]byte, 0, maxPath*len(hash{}))
	for i := range s.path {
		path = append(path, s.path[i][:]...)
	}
	text := make([]byte, 0, 200+encoding.EncodedLen(len(path)))
	text = append(text, version+"."...)
	text = append(text, s.key...)
	for _, number := range []int64{s.at, int64(s.index), int64(s.size)} {
		text = strconv.AppendInt(append(text, '.'), number, 10)
	}
	text = encoding.AppendEncode(append(text, '.'), path)
	text = encoding.AppendEncode(append(text, '.'), s.proof[:])
	return string(text)
}

func parseSignature(text string) (s signature, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 7 || parts[0] != version {
		return s, false
	}
	s.key = parts[1]
	at, errAt := strconv.ParseInt(parts[2], 10, 64)
	index, errIndex := strconv.Atoi(parts[3])
	size, errSize := strconv.Atoi(parts[4])
	path, errPath := encoding.DecodeString(parts[5])
	proof, errProof := encoding.DecodeString(parts[6])
	if errors.Join(errAt, errIndex, errSize, errPath, errProof) != nil || size < 1 || size > MaxBatch ||
		len(path) > maxPath*len(hash{}) || len(path)%len(hash{}) != 0 || len(proof) != len(s.proof) {
		return s, false
	}
	s.at, s.index, s.size = at, index, size
	for ; len(path) > 0; path = path[len(hash{}):] {
		s.path = append(s.path, hash(path))
	}
	copy(s.proof[:], proof)
	return s, true
}

// sign makes the signatures of messages, from one to MaxBatch, in their order.
func (k *Keys) sign(now time.Time, messages []Message) ([]string, error) {
	if k.private == nil {
		return nil, errNoPrivate
	}
	leaves := make([]hash, len(messages))
	for i := range messages {
		leaves[i] = leaf(&messages[i])
	}
	root, paths := grow(leaves)
	s := signature{key: k.privateID, at: now.UnixMilli(), size: len(messages)}
	copy(s.proof[:], ed25519.Sign(k.private, statement(s.at, s.size, &root)))
	texts := make([]string, len(messages))
	for i := range messages {
		s.index, s.path = i, paths[i]
		texts[i] = s.String()
	}
	return texts, nil
}

// root checks all of a signature but Ed25519's part, and returns what that was made over.
func (s *signature) root(m *Message) (hash, error) {
	root, ok := climb(leaf(m), s.index, s.size, s.path)
	if !ok {
		return root, fmt.Errorf("%w: its path leads nowhere", ErrUnsigned)
	}
	return root, nil
}
