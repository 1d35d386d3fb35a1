package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
)

// examined is what the doctor has learnt of a server.
type examined struct {
	check   checked
	answers bool
	address string        // host:port
	version string        // "" if unknown
	ledger  checked       // whether all slots are accounted for
	store   checked       // whether it keeps up
	clocks  checked       // whether the clocks of the nodes agree
	queues  checked       // whether an executor takes what waits
	streams checked       // whether the queue's streams are trimmed
	rights  checked       // whether executors may do no more than they need
	skew    time.Duration // its clock minus ours
}

const examineLimit = 5 * time.Second

// examineServer asks the server how it is.
func (c *cli) examineServer(ctx context.Context, wanted bool) examined {
	ctx, cancel := context.WithTimeout(ctx, examineLimit)
	defer cancel()
	e := examined{ledger: warn("unknown: no server reports it"), store: warn("unknown: no server reports it"), clocks: warn("unknown: no server reports it"), queues: warn("unknown: no server reports it"), streams: warn("unknown: no server reports it"), rights: warn("unknown: no server reports it")}
	if parsed, err := url.Parse(c.url); err == nil {
		e.address = parsed.Host
	}
	began := c.now()
	answer, err := c.get(ctx, "/readyz")
	var wrong *usageError
	if errors.As(err, &wrong) {
		e.check = fail("%s", explainError(err))
		return e
	}
	if err != nil {
		e.check = warn("none answers at %s: start one with `tidewheel server`", c.url)
		if wanted {
			e.check = fail("none answers at %s (%s): check the address, and that it runs", c.url, lastWords(err))
		}
		return e
	}
	defer answer.Body.Close()
	e.answers = true
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000)) // what came is what can be said
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		e.skew = date.Sub(began.Truncate(time.Second))
	}
	if answer.StatusCode != http.StatusOK {
		e.check = fail("it answers at %s and is not ready: %s", c.url, strings.TrimSpace(string(text)))
		return e
	}
	api, err := c.client()
	if err != nil {
		e.check = fail("%s", explainError(err))
		return e
	}
	remote, err := api.Version(ctx)
	var refused *client.APIError
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		e.check = fail("it is ready at %s, and does not take the token: give the one in the file token of its data folder by --token or TIDEWHEEL_TOKEN", c.url)
	case err != nil:
		e.check = fail("it is ready at %s, and does not speak the API: %s", c.url, explainError(err))
	default:
		e.version = remote.Version
		e.check = ok("ready at %s", c.url)
		e.ledger = checkLedger(ctx, api)
		e.store = checkStore(ctx, api)
		e.clocks = checkClocks(ctx, api)
		e.queues = checkQueues(ctx, api)
		e.streams = checkStreams(ctx, api)
		e.rights = checkRights(ctx, api)
	}
	return e
}

// checkLedger reports whether every slot is accounted for.
func checkLedger(ctx context.Context, api *client.Client) checked {
	state, err := api.LedgerCheck(ctx)
	switch {
	case err != nil:
		return warn("not known: %s", explainError(err))
	case state.Differences > 0 && len(state.Items) > 0:
		newest := state.Items[0]
		return fail("%s did not end once; the newest is %s of %s, %s (%s): the server's log names each; please report it",
			count(state.Differences, "slot"), stamp(newest.Slot), newest.Owner, newest.Words, newest.Kind)
	case state.Through.IsZero():
		return ok("being looked through since the server started, nothing is wrong so far")
	}
	return ok("every slot until %s is accounted for", stamp(state.Through.Truncate(time.Second)))
}

// binaryCheckLimit is how long the doctor waits for the server to read binaries; the server stops before.
const binaryCheckLimit = 30 * time.Second

// checkBinaries reports whether the stored bytes of binaries are what was uploaded.
func (c *cli) checkBinaries(ctx context.Context, server examined) checked {
	if server.check.Result != checkOK {
		return warn("unknown: no server reports it")
	}
	ctx, cancel := context.WithTimeout(ctx, binaryCheckLimit)
	defer cancel()
	api, err := c.client()
	if err != nil {
		return warn("not known: %s", explainError(err))
	}
	found, err := api.CheckBinaries(ctx)
	if err != nil {
		return warn("not known: %s", explainError(err))
	}
	if len(found.Items) > 0 {
		const named = 3
		var words []string
		for _, fault := range found.Items[:min(len(found.Items), named)] {
			words = append(words, fmt.Sprintf("%s version %d is %s", fault.Name, fault.Version, fault.Fault))
		}
		if more := len(found.Items) - named; more > 0 {
			words = append(words, fmt.Sprintf("and %d more", more))
		}
		return fail("%s: runs of these fail; upload the same files again, or restore a backup", strings.Join(words, ", "))
	}
	if found.Rest > 0 {
		return ok("%s read and whole; %d more were not read, for lack of time", count(found.Checked, "content"), found.Rest)
	}
	return ok("%s read and whole", count(found.Checked, "content"))
}

// checkStore reports whether the store takes what the engines ask of it.
func checkStore(ctx context.Context, api *client.Client) checked {
	engines, err := api.Engines(ctx)
	if err != nil {
		return warn("not known: %s", explainError(err))
	}
	for i := range engines {
		if engines[i].Problem != "" {
			return warn("on %s %s: give it a faster disk or network, or spread slots over time", engines[i].Host, engines[i].Problem)
		}
	}
	return ok("takes what the engines ask of it")
}

// checkClocks reports whether the clocks of the nodes agree.
func checkClocks(ctx context.Context, api *client.Client) checked {
	clocks, err := api.Clocks(ctx)
	switch {
	case err != nil:
		return warn("not known: %s", explainError(err))
	case clocks.Problem != "":
		return warn("%s: set them by NTP", clocks.Problem)
	}
	return ok("those of the nodes agree")
}

// checkQueues reports whether an executor takes what waits.
func checkQueues(ctx context.Context, api *client.Client) checked {
	queues, err := api.Queues(ctx)
	if err != nil {
		return warn("not known: %s", explainError(err))
	}
	waiting, stuck := uint64(0), []string(nil)
	for _, q := range queues {
		waiting += q.Waiting
		plain := q.Waiting
		report := func(waiting uint64, why string) {
			if waiting > 0 && why != "" {
				stuck = append(stuck, fmt.Sprintf("%s of tier %s, class %s: %s", count(waiting, "task"), q.Tier, q.Class, why))
			}
		}
		for _, p := range q.Pools {
			report(p.Waiting, p.Unserved)
			plain -= min(plain, p.Waiting)
		}
		report(plain, q.Unserved)
	}
	if len(stuck) > 0 {
		return warn("no executor takes %s", strings.Join(stuck, "; "))
	}
	return ok("%s, and executors take them", count(waiting, "waiting task"))
}

// checkRights reports whether executors elsewhere have credentials of their own.
func checkRights(ctx context.Context, api *client.Client) checked {
	executors, err := api.Executors(ctx)
	if err != nil {
		return warn("not known: %s", explainError(err))
	}
	var wide []string
	for i := range executors {
		if executors[i].Rights == string(engine.RightsWide) {
			wide = append(wide, executors[i].ID)
		}
	}
	if len(wide) > 0 {
		return warn("credentials of %s open all of NATS (%s): give each its own with `tidewheel executor enrol`", count(len(wide), "executor"), strings.Join(wide, ", "))
	}
	return ok("no executor has credentials that open all of NATS")
}

// checkStreams reports whether the queue's streams are trimmed.
func checkStreams(ctx context.Context, api *client.Client) checked {
	streams, err := api.Streams(ctx)
	if err != nil {
		return warn("not known: %s", explainError(err))
	}
	var problems, sizes []string
	full := false
	for i := range streams {
		s := &streams[i]
		sizes = append(sizes, fmt.Sprintf("%s %d", s.Name, s.Messages))
		if s.Problem != "" {
			problems = append(problems, s.Problem)
			full = full || s.Limit > 0 && s.Bytes > s.Limit
		}
	}
	switch {
	case full:
		return fail("%s", strings.Join(problems, "; "))
	case len(problems) > 0:
		return warn("%s", strings.Join(problems, "; "))
	}
	return ok("none grows; messages: %s", strings.Join(sizes, ", "))
}

// lastWords returns the part of a network error that says why.
func lastWords(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err.Error()
	}
	return err.Error()
}

func (c *cli) checkVersion(server examined) checked {
	if server.version != "" && server.version != version {
		return warn("this is %s, the server is %s: use the same where you can", version, server.version)
	}
	return ok("%s", version)
}

// maxSkew is how far two clocks may differ before it confuses people.
const maxSkew = 5 * time.Second

func (c *cli) checkClock(server examined) checked {
	now := c.now()
	switch {
	case now.Year() < 2025:
		return fail("it is set to %s: set it right, schedules depend on it", stamp(now))
	case server.answers && server.skew.Abs() > maxSkew:
		return warn("the server's clock differs from this one by about %s: set both by NTP", roughly(server.skew.Abs()))
	}
	return ok("%s", stamp(now.Truncate(time.Second)))
}

// checkPort reports whether a server could listen.
func checkPort(ctx context.Context, address string, server examined) checked {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		_ = listener.Close() // it was only tried
		return ok("%s is free", address)
	case errors.Is(err, syscall.EADDRINUSE) && server.answers && samePort(address, server.address):
		return ok("%s is the server's", address)
	}
	return fail("%s", explainListen("--http", address, err))
}

func samePort(a, b string) bool {
	_, first, _ := net.SplitHostPort(a)
	_, second, _ := net.SplitHostPort(b)
	return first != "" && first == second
}
