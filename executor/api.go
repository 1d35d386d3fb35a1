package executor

import (
	"cmp"
	"time"

	"github.com/tidewheel/tidewheel/internal/runtoken"
)

// runTokenVariable is where a program finds its token.
const runTokenVariable = contractPrefix + "RUN_TOKEN"

const (
	// tokenSlack is how much longer than its program a run token lives, beside the grace that a program is given to
	// end: what it did last is to be noted.
	tokenSlack = time.Minute
	// tokenLife is how long the token of a program without a timeout lives.
	tokenLife = 24 * time.Hour
)

// openAPI passes the program the address of the API, and a token that is good for this attempt only. A program that
// uses neither loses nothing where there is no API to announce, or the task brings no key.
func (a *attempt) openAPI(environment *environment, deadline time.Time) {
	api := cmp.Or(a.e.config.API, a.task.API)
	if api == "" || a.task.RunKey == "" {
		return
	}
	if deadline.IsZero() {
		deadline = time.Now().Add(tokenLife)
	}
	token, err := runtoken.Seal(a.task.RunKey, runtoken.Grant{
		Namespace: a.task.Namespace, Run: a.task.Run, Attempt: a.task.Attempt, Token: a.token,
		Expires: deadline.Add(a.task.Grace + tokenSlack),
	})
	if err != nil {
		a.e.log.Warn("a program gets no token for the API", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyError, err)
		return
	}
	environment.contract = append(environment.contract, "TIDEWHEEL_API="+api, runTokenVariable+"="+token)
}
