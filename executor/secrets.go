package executor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
)

// openSecrets decrypts the values that the program is given, by variable.
func (a *attempt) openSecrets() (map[string]string, *failure) {
	if len(a.task.Secrets) == 0 {
		return nil, nil
	}
	if a.e.config.Secrets == nil {
		return nil, &failure{message: fmt.Sprintf("it needs secrets, and executor %s has no key to open them: give that executor --secrets-key-file", a.e.config.ID)}
	}
	values := make(map[string]string, len(a.task.Secrets))
	for _, variable := range slices.Sorted(maps.Keys(a.task.Secrets)) {
		name := a.task.Secrets[variable]
		value, err := a.e.config.Secrets.Open(a.ctx, a.task.Namespace, name, a.task.Sealed[variable])
		if err != nil {
			return nil, &failure{message: fmt.Sprintf("executor %s cannot open the secret %s of its variable %s: %v", a.e.config.ID, quoted(name), variable, err)}
		}
		values[variable] = string(value)
	}
	return values, nil
}

// maskOutput masks the program's token and secrets in all that it prints and hands on from now on.
func (a *attempt) maskOutput(environment *environment) {
	values := make([][]byte, 0, len(environment.secrets))
	for _, variable := range slices.Sorted(maps.Keys(environment.secrets)) {
		values = append(values, []byte(environment.secrets[variable]))
	}
	token, _ := environment.lookup(runTokenVariable)
	a.mask = output.NewMask([]byte(token), values...)
	a.output.Mask(a.mask)
}

// bareArguments refuses arguments that hold a secret: users of the machine see the arguments of each other's programs.
func (a *attempt) bareArguments(arguments []string, environment *environment) *failure {
	for i, argument := range arguments {
		for variable, value := range environment.secrets {
			if len(value) >= output.MaskLeast && strings.Contains(argument, value) {
				return &failure{noRetry: true, message: fmt.Sprintf(
					"args[%d] would hold the secret of %s, and other users of the machine could read it: let the program read the variable itself", i, variable)}
			}
		}
	}
	return nil
}

// masked takes the token and secrets out of what is reported of an attempt. Output and progress are masked as they come.
func (a *attempt) masked(finish *engine.Finish) *engine.Finish {
	finish.Error = a.mask.String(finish.Error)
	return finish
}
