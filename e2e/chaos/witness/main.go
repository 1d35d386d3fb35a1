// Command witness is the program that all jobs of the chaos run: it writes into a journal, one whole line at a time,
// that it begins, that it lives, and that it ends.
//
//	WORK  how many milliseconds it works
//	FAIL  "first": its first attempt fails, of one run in three; "always-first": of each run
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"time"
)

// beat is how often it says that it lives.
const beat = 100 * time.Millisecond

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
}

func run() error {
	work, err := strconv.Atoi(os.Getenv("WORK"))
	if err != nil {
		return err
	}
	journal, err := os.OpenFile(os.Getenv("JOURNAL"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	id, attempt := os.Getenv("TIDEWHEEL_RUN_ID"), os.Getenv("TIDEWHEEL_ATTEMPT")
	say := func(what string) {
		// The time is taken before the write: the program that wrote the line was alive then.
		_, err = fmt.Fprintf(journal, "%s %s %s %s %d\n", what, id, attempt, os.Getenv("TIDEWHEEL_FENCING_TOKEN"), time.Now().UnixNano())
	}
	say("start")
	for left := time.Duration(work) * time.Millisecond; left > 0 && err == nil; left -= beat {
		time.Sleep(min(left, beat))
		if left > beat {
			say("alive")
		}
	}
	if err != nil {
		return err
	}
	if fail := os.Getenv("FAIL"); attempt == "1" && (fail == "always-first" || fail == "first" && chosen(id)) {
		if say("fail"); err == nil {
			os.Exit(1)
		}
		return err
	}
	say("end")
	return err
}

// chosen picks one run in three.
func chosen(run string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(run)) // it never fails
	return hash.Sum32()%3 == 0
}
