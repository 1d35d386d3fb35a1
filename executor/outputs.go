package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
)

// outputName is the file of $TIDEWHEEL_OUTPUT in a program's folder. It is hidden because programs like to make files
// whose name is output. The program makes it, so that one that hands nothing on costs nothing.
const outputName = ".tidewheel-output"

const maxKey = 128 // bytes of a key in outputs

// readOutputs reads what a program has written to $TIDEWHEEL_OUTPUT: nil if nothing. owner is the user whose file it
// must be; negative for anybody's. What mask masks is taken out.
func readOutputs(root *os.Root, owner int, mask *output.Mask) (json.RawMessage, error) {
	file, info, err := openRegular(root, outputName, owner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what it left at $TIDEWHEEL_OUTPUT cannot be read: %w", err)
	}
	defer file.Close()
	size := info.Size()
	var text []byte
	if size <= engine.MaxOutputs {
		if text, err = io.ReadAll(io.LimitReader(file, engine.MaxOutputs+1)); err != nil {
			return nil, fmt.Errorf("what it left at $TIDEWHEEL_OUTPUT cannot be read: %w", err)
		}
		size = int64(len(text))
	}
	if size > engine.MaxOutputs {
		return nil, fmt.Errorf("it wrote %d bytes to $TIDEWHEEL_OUTPUT, and the limit is %d: write files to $TIDEWHEEL_ARTIFACTS instead", size, engine.MaxOutputs)
	}
	outputs, err := parseOutputs(text)
	if err == nil {
		outputs, err = maskOutputs(outputs, mask)
	} else if masked := mask.Bytes(text); !bytes.Equal(masked, text) {
		// Of a text that is not shown whole, the beginning of a value must not be shown either.
		if _, err = parseOutputs(masked); err == nil {
			err = errors.New("it can be read only without the secrets in it")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("what it wrote to $TIDEWHEEL_OUTPUT cannot be used: %w", err)
	}
	return outputs, nil
}

// maskOutputs takes values out of the texts and numbers of outputs, at any depth. Without any in it, nothing changes. A
// value in the key of an output is refused: others refer to it.
func maskOutputs(outputs json.RawMessage, mask *output.Mask) (json.RawMessage, error) {
	if len(outputs) == 0 || mask == nil {
		return outputs, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(outputs))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	found := false
	for key, value := range values {
		if mask.String(key) != key {
			return nil, errors.New("one of its keys holds a secret: use another key")
		}
		values[key] = maskValue(value, mask, &found)
	}
	if !found {
		return outputs, nil
	}
	masked, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	return masked, nil
}

// maskValue masks one value, and says in found if that changed it.
func maskValue(value any, mask *output.Mask, found *bool) any {
	switch value := value.(type) {
	case string:
		masked := mask.String(value)
		*found = *found || masked != value
		return masked
	case json.Number:
		if masked := mask.String(value.String()); masked != value.String() {
			*found = true
			return masked
		}
	case []any:
		for i := range value {
			value[i] = maskValue(value[i], mask, found)
		}
	case map[string]any:
		masked := make(map[string]any, len(value))
		for key := range value {
			without := mask.String(key)
			*found = *found || without != key
			masked[without] = maskValue(value[key], mask, found)
		}
		return masked
	}
	return value
}

// parseOutputs reads one JSON object, or lines of key=value, and returns a JSON object with its keys in order; nil for
// one without keys.
func parseOutputs(text []byte) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8: write text, and files of other kinds to $TIDEWHEEL_ARTIFACTS")
	}
	var values map[string]json.RawMessage
	var err error
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return nil, nil
	case trimmed[0] == '{':
		values, err = parseObject(trimmed)
	default:
		values, err = parseLines(string(text))
	}
	if err != nil || len(values) == 0 {
		return nil, err
	}
	for key := range values {
		if !validKey(key) {
			return nil, fmt.Errorf("the key %s: use a letter or '_' first, then letters, digits, '_' and '-', %d characters at most", quoted(key), maxKey)
		}
	}
	outputs, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	if len(outputs) > engine.MaxOutputs {
		return nil, fmt.Errorf("as JSON the outputs have %d bytes, and the limit is %d: write files to $TIDEWHEEL_ARTIFACTS instead", len(outputs), engine.MaxOutputs)
	}
	return outputs, nil
}

func parseObject(text []byte) (values map[string]json.RawMessage, err error) {
	err = json.Unmarshal(text, &values)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return values, err
	}
	line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
	return nil, fmt.Errorf("it begins as a JSON object and is none (line %d: %w): write one object, or lines of key=value", line, err)
}

func parseLines(text string) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || !validKey(key) {
			return nil, fmt.Errorf("line %d is %s: write key=value, with a key of letters, digits, '_' and '-', or one JSON object for values of several lines", number, quoted(line))
		}
		if structured(value) {
			values[key] = json.RawMessage(value)
			continue
		}
		written, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		values[key] = written
	}
	return values, nil
}

// structured reports whether the value of a line is JSON and not text. Whatever it is, it is written back as it came: a
// number is one only in the form that it would be written in, so that 1.10, 007 and 12345e7 stay text.
func structured(value string) bool {
	if value == "true" || value == "false" {
		return true
	}
	if value == "" {
		return false
	}
	switch c := value[0]; {
	case c == '[' || c == '{':
		return json.Valid([]byte(value))
	case c == '-' || c >= '0' && c <= '9':
		number, err := strconv.ParseFloat(value, 64)
		size := math.Abs(number)
		return err == nil && strconv.FormatFloat(number, 'f', -1, 64) == value && value != "-0" && size < 1e15 && (size == 0 || size >= 1e-6)
	}
	return false
}

func validKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for i, r := range key {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return true
}

// quoted shows the beginning of a program's text in words for people.
func quoted(text string) string {
	const shown = 60
	if len(text) > shown {
		return strconv.Quote(strings.ToValidUTF8(text[:shown], "")) + "…"
	}
	return strconv.Quote(text)
}

// openRegular opens a file that a program has left, and nothing else: it follows no link, waits for no pipe, opens no
// device and no file of another user's. Programs of the same user may change the folder meanwhile, so that what was
// opened is looked at again.
func openRegular(root *os.Root, name string, owner int) (_ *os.File, _ fs.FileInfo, err error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, nil, bare(err)
	}
	if err := irregular(before, owner); err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, bare(err)
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errors.New("it was exchanged while it was opened")
	}
	if err != nil {
		_ = file.Close() // it was only read
		return nil, nil, bare(err)
	}
	return file, info, nil
}

// irregular says in words why something is no file that may be read.
func irregular(info fs.FileInfo, owner int) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
	case mode.IsDir():
		return errors.New("it is a folder: leave a file")
	case mode&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link, and links are not followed: copy the file")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("it is a named pipe: leave a file")
	case mode&fs.ModeSocket != 0:
		return errors.New("it is a socket: leave a file")
	default:
		return errors.New("it is a device: leave a file")
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && owner >= 0 && int(stat.Uid) != owner {
		return errors.New("it belongs to another user: copy the file")
	}
	return nil
}

// bare leaves out which call failed and where, which says nothing to the author of the program.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
