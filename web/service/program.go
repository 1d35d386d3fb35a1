package service

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// Program is a running program that asks for something: an attempt of a run, as its run token proves.
type Program struct {
	Namespace string
	Run       string
	Attempt   int
	Token     uint64 // the fencing token of the attempt's lock
}

type programKey struct{}

// WithProgram records in the context which program acts.
func WithProgram(ctx context.Context, program Program) context.Context {
	return context.WithValue(ctx, programKey{}, program)
}

// ProgramOf reports which program acts, if one does.
func ProgramOf(ctx context.Context) (Program, bool) {
	program, is := ctx.Value(programKey{}).(Program)
	return program, is
}

// staleFor reports whether a later caller has an effect. The attempt decides, because only the engine makes
// attempts; no two have the same token, so a token that does not fit its attempt belongs to none.
func (p *Program) staleFor(effect *engine.RunEffect) bool {
	return effect.Attempt > p.Attempt || effect.Attempt == p.Attempt && effect.Token != p.Token
}

func (p *Program) fenced(format string, args ...any) *Error {
	return &Error{
		Kind: KindFenced, Code: "fenced",
		Detail: fmt.Sprintf("attempt %d of run %s is over: %s; stop, and change nothing", p.Attempt, p.Run, fmt.Sprintf(format, args...)),
	}
}
