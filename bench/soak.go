package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // reads how many documents there are, beside the server
)

const (
	// soakWeek is the time that the soak stands for, and soakKeeps the retention in that time. Both are compressed alike: what is
	// kept turns over as often as it would in that week. What happens in a second does not change.
	soakWeek  = 7 * 24 * time.Hour
	soakKeeps = 15 // retentions in the week
	soakRate  = 100
	soakEvery = 10 * time.Second
	// soakSlack is by how much the last third may be above the second one: of the mean, and of the highest.
	soakSlack = 1.10
	// soakTrim is how often RESULTS is trimmed with the usual --lock-ttl, and soakResults how many messages a run puts there.
	soakTrim    = 30 // seconds
	soakResults = 2
)

// soakSample is what a server uses at one time.
type soakSample struct {
	at     time.Duration
	values []float64 // by soakColumns
}

// soakColumn is one of the values: its name and how to write it.
type soakColumn struct {
	name string
	text func(float64) string
	// least is what a difference of means must be to count: a few documents, or a file that grows by a page.
	least float64
	// step is the same for the highest: what is made smaller now and then, by a step, is as much higher in a sample that came before it.
	step float64
}

var soakColumns = []soakColumn{
	{"runs", whole, 500, 500}, {"waves", whole, 20, 20}, {"slots", whole, 20, 20}, {"letters", whole, 50, 50}, {"effects", whole, 20, 20},
	// A file keeps the size of the most that was in it: its mean says nothing. The log is emptied once it has 8 MiB, or is longer than the store.
	{"store MiB", mebibytes, math.Inf(1), 2}, {"log MiB", mebibytes, 2, 8},
	{"nats MiB", mebibytes, 2, 8}, {"S3 MiB", mebibytes, 2, 2}, {"RSS MiB", mebibytes, 8, 32}, // a block of JetStream has 8 MiB
	{"TASKS", whole, 100, 100}, {"RESULTS", whole, 2000, soakRate * soakResults * soakTrim * 1.5}, // one trim that comes late
	{"LOCKS", whole, 200, 200},
}

func whole(n float64) string     { return strconv.FormatFloat(n, 'f', 0, 64) }
func mebibytes(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

// soak runs a server on its embedded stores with soakRate runs a second and a retention that is passed soakKeeps times, prints what
// it uses, and fails where that grows.
func (b *bench) soak(ctx context.Context, length time.Duration) error {
	if b.mongodb != "" {
		return errors.New("soak is for the embedded stores: leave -mongodb-uri out")
	}
	dir, err := b.folder()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	keeps := (length / soakKeeps).Round(time.Second)
	s, _, err := startServer(ctx, b.binary, data, "--retention", keeps.String())
	if err != nil {
		return err
	}
	defer b.stop(s)
	if err := b.soakLoad(ctx, s, dir); err != nil {
		return err
	}
	fmt.Printf("soak: %s for a week of %d runs/s, 1 second for %s; history is kept for %s, for %s of that week\n", length, soakRate,
		(soakWeek / time.Duration(length.Seconds())).Round(time.Second), keeps, (soakWeek / soakKeeps).Round(time.Minute))
	store, err := sql.Open("sqlite", "file:"+filepath.Join(data, "store", "tidewheel.db")+"?mode=ro")
	if err != nil {
		return err
	}
	defer store.Close()
	header := []string{"after"}
	for _, column := range soakColumns {
		header = append(header, column.name)
	}
	fmt.Println("| " + strings.Join(header, " | ") + " |\n|" + strings.Repeat("---:|", len(header)))
	began := time.Now()
	var samples []soakSample
	for at := time.Duration(0); at < length; {
		at += soakEvery
		if err := sleepUntil(ctx, began.Add(at)); err != nil {
			return err
		}
		sample, err := s.soakSample(ctx, store, data)
		if err != nil {
			return err
		}
		sample.at = at
		samples = append(samples, sample)
		if at%(length/30).Round(soakEvery) == 0 || at == length {
			row := []string{at.String()}
			for i, column := range soakColumns {
				row = append(row, column.text(sample.values[i]))
			}
			fmt.Println("| " + strings.Join(row, " | ") + " |")
		}
	}
	removed, err := s.counter(ctx, `tidewheel_expired_total{kind="run"}`)
	if err != nil {
		return err
	}
	b.print(fmt.Sprintf("soak of %s: runs that retention removed", length), strconv.Itoa(removed), "")
	return b.judgeSoak(samples)
}

// judgeSoak says of each value whether it is flat: neither its mean nor its highest in the last third is above that of the second
// third by more than soakSlack, and a step. The first third, in which history fills up, does not count.
func (b *bench) judgeSoak(samples []soakSample) error {
	third := len(samples) / 3
	if third < 3 {
		return fmt.Errorf("%d samples are too few to judge", len(samples))
	}
	var grown []string
	for i, column := range soakColumns {
		middle, last := meanAndMost(samples[third:2*third], i), meanAndMost(samples[2*third:], i)
		verdict := "flat"
		switch {
		case grows(middle[0], last[0], column.least):
			verdict = "grows: mean"
		case grows(middle[1], last[1], column.step):
			verdict = "grows: highest"
		}
		if verdict != "flat" {
			grown = append(grown, column.name)
		}
		b.print("soak, "+column.name, fmt.Sprintf("second third mean %s, highest %s; last third mean %s, highest %s: %s",
			column.text(middle[0]), column.text(middle[1]), column.text(last[0]), column.text(last[1]), verdict), "")
	}
	if len(grown) > 0 {
		return fmt.Errorf("the soak is not flat: %s", strings.Join(grown, ", "))
	}
	return nil
}

// grows reports whether a value is so much larger than it was that least does not explain it.
func grows(before, now, least float64) bool { return now > before*soakSlack && now-before > least }

func meanAndMost(samples []soakSample, column int) (found [2]float64) {
	for _, sample := range samples {
		found[0] += sample.values[column] / float64(len(samples))
		found[1] = max(found[1], sample.values[column])
	}
	return found
}

// soakCharge asks for the permission to do something once, and says that it is done: an effect for each run.
const soakCharge = `#!/bin/sh
set -e
for how in POST PUT; do
	curl -sf -o /dev/null -X $how -H "Authorization: Bearer $TIDEWHEEL_RUN_TOKEN" -d '{}' "$TIDEWHEEL_API/effects/charge-$TIDEWHEEL_RUN_ID"
done
`

// soakLoad defines what runs: mostly short jobs, some that fail, some that leave dead letters, some with effects, some with output that
// goes to S3, and a DAG with artifacts.
func (b *bench) soakLoad(ctx context.Context, s *server, dir string) error {
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return err
	}
	for name, script := range map[string]string{
		"loud": "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x | fold -w 99\n", "fails": "#!/bin/sh\nexit 64\n", "charges": soakCharge, "dies": "#!/bin/sh\nexit 1\n",
		"leaves": "#!/bin/sh\nhead -c 20000 /dev/zero > \"$TIDEWHEEL_ARTIFACTS/zeros\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
			return err
		}
		if err := s.push(ctx, name, file); err != nil {
			return err
		}
	}
	for _, some := range []struct {
		binary string
		n      int
	}{{"loud", 2}, {"fails", 1}, {"dies", 2}, {"charges", 2}, {"true", soakRate - 9}} {
		job := map[string]any{"kind": "Job", "binary": some.binary, "schedule": "* * * * * *", "timeout": "1m", "catch_up": map[string]any{"policy": "none"}}
		if some.binary == "dies" { // a dead letter is of a run that was tried more than once
			job["retry"] = map[string]any{"max_attempts": 2, "delay": "100ms"}
		}
		if err := s.jobs(ctx, "soak-"+some.binary+"-", some.n, job); err != nil {
			return err
		}
	}
	return s.call(ctx, "POST", "/dags", map[string]any{
		"kind": "DAG", "name": "soak", "schedule": "* * * * * *",
		"tasks": map[string]any{"a": map[string]any{"binary": "leaves"}, "b": map[string]any{"binary": "true", "needs": []string{"a"}}},
	}, nil)
}

// soakSample reads what the server uses.
func (s *server) soakSample(ctx context.Context, store *sql.DB, data string) (sample soakSample, err error) {
	for _, table := range []string{"runs_history", "waves", "slots", "dead_letters", "effects"} {
		var n float64
		if err := store.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return sample, fmt.Errorf("count %s: %w", table, err)
		}
		sample.values = append(sample.values, n)
	}
	log, err := os.Stat(filepath.Join(data, "store", "tidewheel.db-wal"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sample, err
	}
	logBytes := 0.0
	if err == nil {
		logBytes = float64(log.Size())
	}
	for _, folder := range []string{"store", "nats", "s3"} {
		bytes, err := folderBytes(filepath.Join(data, folder))
		if err != nil {
			return sample, err
		}
		if folder == "store" {
			sample.values = append(sample.values, max(bytes-logBytes, 0)/(1<<20), logBytes/(1<<20))
		} else {
			sample.values = append(sample.values, bytes/(1<<20))
		}
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid()))
	if err != nil {
		return sample, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kibibytes, err := strconv.ParseFloat(strings.Fields(rest + " ?")[0], 64)
	if err != nil {
		return sample, fmt.Errorf("VmRSS of the server: %w", err)
	}
	sample.values = append(sample.values, kibibytes/1024)
	for _, stream := range []string{"TASKS", "RESULTS", "LOCKS"} {
		n, err := s.counter(ctx, `tidewheel_stream_messages{stream="`+stream+`"}`)
		if err != nil {
			return sample, err
		}
		sample.values = append(sample.values, float64(n))
	}
	return sample, nil
}

// folderBytes is the size of all files below a folder. A file that goes meanwhile does not count.
func folderBytes(folder string) (bytes float64, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != folder {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			bytes += float64(info.Size())
		}
		return err
	})
	return bytes, err
}
