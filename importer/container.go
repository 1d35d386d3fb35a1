package importer

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidewheel/tidewheel/spec"
)

// program is what a container or a script of Kubernetes or Argo comes to.
type program struct {
	args    []string
	env     map[string]string
	secrets map[string]string
	limits  spec.Limits
}

// container reads a container of a pod. fill puts values in the place of references in a text.
func (b *builder) container(n node, fill func(string) string) program {
	p := program{}
	b.environment(n.get("env"), &p, fill)
	var words []string
	for _, word := range append(n.get("command").texts(), n.get("args").texts()...) {
		for name := range p.env { // Kubernetes puts in the values of these, and of no others
			word = strings.ReplaceAll(word, "$("+name+")", reference(name))
		}
		words = append(words, fill(word))
	}
	image := n.get("image").text()
	if len(words) == 0 {
		b.note(n.line(), "the program of image %s is not known: no command is given; put one in the place of the false that stands there", image)
		words = []string{"false"}
	} else if image != "" {
		b.note(n.get("image").line(), "image %s is not used: what its command needs must be on the executors (see runs_on), or upload the program itself", image)
	}
	p.args = b.commandOf(words)
	if from := n.get("envFrom"); !from.none() {
		b.note(from.line(), "envFrom has no counterpart: write the variables out under env or secrets")
	}
	p.limits = b.limits(n.get("resources", "limits"))
	b.unmapped(n, "container: ", "name", "image", "imagePullPolicy", "command", "args", "env", "envFrom", "resources", "source",
		"terminationMessagePath", "terminationMessagePolicy")
	return p
}

func (b *builder) environment(n node, p *program, fill func(string) string) {
	for _, variable := range n.list() {
		name := variable.get("name").text()
		from := variable.get("valueFrom")
		switch {
		case from.none():
			if p.env == nil {
				p.env = map[string]string{}
			}
			p.env[name] = setting(fill(variable.get("value").text()))
		case !from.get("secretKeyRef").none():
			secret := validName(from.get("secretKeyRef", "name").text() + "-" + from.get("secretKeyRef", "key").text())
			if p.secrets == nil {
				p.secrets = map[string]string{}
			}
			p.secrets[name] = secret
			b.note(variable.line(), "%s is the secret %s here; set it by: tidewheel secret set %s", name, secret, secret)
		default:
			b.note(variable.line(), "%s takes its value from what has no counterpart, and is left out", name)
		}
	}
}

// setting is the value of a variable: Tidewheel puts in the values of others itself.
func setting(text string) string {
	return references.ReplaceAllString(strings.ReplaceAll(text, "${", "$${"), "$${$1}")
}

var quantity = regexp.MustCompile(`^([0-9.]+)(m|Ki|Mi|Gi|Ti|k|M|G|T)?$`)

// limits reads Kubernetes' quantities of memory (bytes) and CPU (cores).
func (b *builder) limits(n node) spec.Limits {
	limits := spec.Limits{}
	for _, p := range n.pairs() {
		value, ok := parseQuantity(p.value.text())
		switch {
		case ok && p.key == "memory":
			limits.Memory = spec.Size(value)
		case ok && p.key == "cpu":
			limits.CPU = value
		default:
			b.note(p.line, "limit %s: %s has no counterpart and is left out", p.key, p.value.text())
		}
	}
	return limits
}

func parseQuantity(text string) (float64, bool) {
	match := quantity.FindStringSubmatch(text)
	if match == nil {
		return 0, false
	}
	number, err := strconv.ParseFloat(match[1], 64)
	factor := map[string]float64{
		"": 1, "m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
	}[match[2]]
	value := number * factor
	return value, err == nil && value > 0 && value < math.MaxInt64
}

// overlapOf is Kubernetes' and Argo's concurrencyPolicy.
func overlapOf(n node) spec.Overlap {
	switch n.get("concurrencyPolicy").text() {
	case "Forbid":
		return spec.OverlapSkip
	case "Replace":
		return spec.OverlapReplace
	}
	return spec.OverlapAllow
}

// catchUpOf is what startingDeadlineSeconds asks for.
func catchUpOf(n node) spec.CatchUp {
	if window := n.get("startingDeadlineSeconds").seconds(); window > 0 {
		return spec.CatchUp{Policy: spec.CatchUpLast, Window: window}
	}
	return spec.CatchUp{Policy: spec.CatchUpLast}
}

// zoned takes a zone out of a schedule that names one itself.
func zoned(schedule, zone string) (string, string) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(schedule, prefix); ok {
			zone, schedule, _ = strings.Cut(rest, " ")
			return strings.TrimSpace(schedule), zone
		}
	}
	return schedule, zone
}

// suspended notes that a definition is to be paused manually.
func (b *builder) suspended(n node, kind, name string) {
	if n.get("suspend").yes() {
		b.note(n.get("suspend").line(), "%s is suspended: after apply, tidewheel pause %s %s", name, kind, validName(name))
	}
}
