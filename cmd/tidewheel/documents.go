package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/spec"
)

// sourceFile is one file of definitions.
type sourceFile struct {
	Name string // as the user named it; "-" is standard input
	Text []byte
}

// readSources reads what -f names: files, folders with all their .yaml and .yml files, and "-". A .json
// file is read where it is named: in folders it may be anything.
func (c *cli) readSources(paths []string) ([]sourceFile, error) {
	if len(paths) == 0 {
		return nil, usage("say what to read: -f FILE, -f DIR, or -f - for standard input")
	}
	var files []sourceFile
	for _, path := range paths {
		if path == "-" {
			text, err := io.ReadAll(io.LimitReader(c.in, spec.MaxFile+1))
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			files = append(files, sourceFile{"-", text})
			continue
		}
		names, err := sourceNames(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := readSource(name)
			if err != nil {
				return nil, err
			}
			files = append(files, sourceFile{name, text})
		}
	}
	return files, nil
}

// readSource reads one file, and no more of it than will be taken.
func readSource(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usage("%s cannot be read: %w", name, errors.Unwrap(err))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, spec.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

func sourceNames(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usage("there is no file %s", path)
	case err != nil:
		return nil, usage("%s cannot be read: %w", path, err)
	case !info.IsDir():
		return []string{path}, nil
	}
	var names []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != path
		switch {
		case entry.IsDir() && hidden:
			return filepath.SkipDir
		case !entry.IsDir() && !hidden && slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(name))):
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, usage("%s cannot be read: %w", path, err)
	}
	if len(names) == 0 {
		return nil, usage("the folder %s holds no .yaml or .yml file", path)
	}
	return names, nil
}
