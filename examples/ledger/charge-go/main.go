// Command charge-go charges customers, each exactly once a run, however often it is killed on the way.
//
// CUSTOMERS are their names, ACCOUNT is a file that gets a line for each charge, PAUSE is how many seconds it waits
// before each step, to have time to kill it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// retry is the exit status that says: this attempt cannot continue, another one may.
const retry = 75

func main() {
	ledger := newLedger()
	for customer := range strings.FieldsSeq(os.Getenv("CUSTOMERS")) {
		pause()
		key := "charge-" + customer
		_, err := ledger.once(key, func() (json.RawMessage, error) { return charged(key) }, func() (json.RawMessage, error) { return charge(key) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(retry)
		}
		fmt.Println(customer, "is charged")
	}
}

// identity is how the account knows a charge.
func identity(key string) string { return os.Getenv("TIDEWHEEL_RUN_ID") + "/" + key + " " }

// charged looks whether it was charged; nil if not.
func charged(key string) (json.RawMessage, error) {
	pause()
	file, err := os.Open(os.Getenv("ACCOUNT"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), identity(key)) {
			return json.RawMessage(`{"charged":100,"found":true}`), nil
		}
	}
	return nil, lines.Err()
}

// charge charges.
func charge(key string) (json.RawMessage, error) {
	pause()
	file, err := os.OpenFile(os.Getenv("ACCOUNT"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	line := identity(key) + "100 " + os.Getenv("TIDEWHEEL_ATTEMPT") + " " + os.Getenv("TIDEWHEEL_FENCING_TOKEN") + "\n"
	if _, err := file.WriteString(line); err != nil { // whole or not at all
		return nil, err
	}
	return json.RawMessage(`{"charged":100}`), file.Close()
}

func pause() {
	seconds, _ := strconv.ParseFloat(os.Getenv("PAUSE"), 64) // none without it
	time.Sleep(time.Duration(seconds * float64(time.Second)))
}
