package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// DiffLines is how many of the last lines of each output are compared.
const DiffLines = 2000

func (s *Service) compareOutputs(ctx context.Context, a, b *engine.Run, exact bool) (diff LineDiff, err error) {
	var lines [2][]LogLine
	for i, run := range []*engine.Run{a, b} {
		var skipped int64
		lines[i], skipped, err = s.finalLines(ctx, run)
		var known *Error
		if errors.As(err, &known) {
			diff.Missing = known.Detail
			return diff, nil
		}
		if err != nil {
			return diff, err
		}
		if i == 0 {
			diff.SkippedA = skipped
		} else {
			diff.SkippedB = skipped
		}
	}
	diff.Rows, diff.Removed, diff.Added = compareLines(lines[0], lines[1], exact)
	return diff, nil
}

// finalLines reads the last lines of a run's latest output, and returns how many are before them.
func (s *Service) finalLines(ctx context.Context, run *engine.Run) (lines []LogLine, skipped int64, err error) {
	log, err := s.OpenLog(ctx, run.Namespace, run.ID, 0)
	if err != nil {
		return nil, 0, err
	}
	from := max(0, log.Lines-DiffLines)
	for next := from; next < log.Lines; {
		some, err := log.ReadLines(ctx, next, log.Lines-next)
		if err != nil {
			return nil, 0, fmt.Errorf("read the last lines of run %s: %w", run.ID, err)
		}
		if len(some) == 0 {
			break
		}
		for _, line := range some {
			line.Text = bytes.Clone(line.Text[:min(len(line.Text), diffLineBytes)])
			lines = append(lines, line)
		}
		next = lines[len(lines)-1].Number + 1
	}
	return lines, from, nil
}
