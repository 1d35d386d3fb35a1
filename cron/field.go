package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Positions of the fields in an expression of seven.
const (
	secondField = iota
	minuteField
	hourField
	dayField
	monthField
	weekField
	yearField
	fieldCount
)

type fieldRule struct {
	name      string
	low, high int
	names     []string // names[i] stands for low+i
}

var fieldRules = [fieldCount]fieldRule{
	{name: "second", low: 0, high: 59},
	{name: "minute", low: 0, high: 59},
	{name: "hour", low: 0, high: 23},
	{name: "day of month", low: 1, high: 31},
	{name: "month", low: 1, high: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{name: "day of week", low: 0, high: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	{name: "year", low: 0, high: 9999},
}

type partKind uint8

const (
	partAny      partKind = iota + 1 // * or ?
	partValue                        // 5
	partRange                        // 1-5
	partStep                         // */5, 3/5, 1-9/2: text is what gronx reads
	partModifier                     // L, L-3, LW, 15W, 5L, 1#2
)

// A part is one entry of the comma-separated list that a field is. H is
// resolved and names are numbers by now.
type part struct {
	kind partKind
	text string // as gronx reads it
	// low and high are the first and last value that a value, range or step may
	// name; step is 0 except of a step.
	low, high, step int
}

// parseField reads a field. All the faults of its parts come back in one error
// list; parts that occur twice are kept once.
func parseField(position int, text string, spread hash) ([]part, []string) {
	var parts []part
	var faults []string
	for entry := range strings.SplitSeq(text, ",") {
		parsed, err := parsePart(position, strings.ToUpper(entry), spread)
		if err != nil {
			if message := err.Error(); !slices.Contains(faults, message) {
				faults = append(faults, message)
			}
			continue
		}
		if !slices.ContainsFunc(parts, func(known part) bool { return known.text == parsed.text }) {
			parts = append(parts, parsed)
		}
	}
	return parts, faults
}

func parsePart(position int, text string, spread hash) (part, error) {
	rule := fieldRules[position]
	switch {
	case text == "":
		return part{}, fmt.Errorf("the %s has an empty entry; write nothing before the first, after the last or between two commas", rule.name)
	case text == "*" || text == "?":
		return part{kind: partAny, text: "*"}, nil
	case isModifier(position, text):
		return parseModifier(position, text)
	}
	base, stepText, stepped := strings.Cut(text, "/")
	step := 0
	if stepped {
		var ok bool
		if step, ok = parseDigits(stepText); !ok || step == 0 {
			return part{}, fmt.Errorf("the step of the %s in %q must be a whole number from 1 on", rule.name, text)
		}
		if step > rule.size() {
			return part{}, stepTooLong(position, text)
		}
	}
	if strings.HasPrefix(base, "H") {
		return parseHash(position, text, base, step, spread)
	}
	if base == "*" {
		return part{kind: partStep, text: fmt.Sprintf("*/%d", step), low: rule.low, high: rule.high, step: step}, nil
	}
	lowText, highText, ranged := strings.Cut(base, "-")
	low, err := parseValue(position, lowText, text)
	if err != nil {
		// gronx reads 0/5 in every field as: each multiple of five.
		if !stepped || ranged || lowText != "0" {
			return part{}, err
		}
		return part{kind: partStep, text: fmt.Sprintf("0/%d", step), low: step, high: rule.high, step: step}, nil
	}
	if !ranged {
		if stepped {
			return part{kind: partStep, text: fmt.Sprintf("%d/%d", low, step), low: low, high: rule.high, step: step}, nil
		}
		return part{kind: partValue, text: strconv.Itoa(low), low: low, high: low}, nil
	}
	high, err := parseValue(position, highText, text)
	if err != nil {
		return part{}, err
	}
	if position == weekField && high == 0 && low > 0 && highText != "0" {
		high = 7 // FRI-SUN
	}
	if low > high && (position != weekField || low != 7) {
		return part{}, fmt.Errorf("the range %s of the %s runs backwards; write %s", base, rule.name, forwards(position, low, high))
	}
	if stepped {
		return part{kind: partStep, text: fmt.Sprintf("%d-%d/%d", low, high, step), low: low, high: high, step: step}, nil
	}
	return part{kind: partRange, text: fmt.Sprintf("%d-%d", low, high), low: low, high: high}, nil
}

// forwards spells a backward range as the list it was probably meant to be.
func forwards(position, low, high int) string {
	rule := fieldRules[position]
	if position == yearField {
		return fmt.Sprintf("%d-%d", high, low)
	}
	if position == weekField && high == 0 {
		return fmt.Sprintf("%d-7", low)
	}
	last := rule.high
	if position == weekField {
		last = 6
	}
	return fmt.Sprintf("%d-%d,%d-%d", low, last, rule.low, high)
}

// size returns how many values the field can have; 0 and 7 are the same day of the week.
func (r fieldRule) size() int {
	if r.name == fieldRules[weekField].name {
		return 7
	}
	return r.high - r.low + 1
}

// stepTooLong explains that a step restarts with each hour, day, month or week. Taken as written, */90 in the
// minute would fire every 60 minutes.
func stepTooLong(position int, text string) error {
	rule := fieldRules[position]
	message := fmt.Sprintf("the step of the %s in %q is longer than the field, which has %d values", rule.name, text, rule.size())
	if units := [...]string{secondField: "s", minuteField: "m", hourField: "h"}; position < len(units) {
		_, step, _ := strings.Cut(text, "/")
		message += fmt.Sprintf("; for a fixed rate write @every %s%s", step, units[position])
	}
	return errors.New(message)
}

// parseHash resolves H, H(a-b), H/n and H(a-b)/n to plain numbers.
func parseHash(position int, text, base string, step int, spread hash) (part, error) {
	rule := fieldRules[position]
	low, high := rule.low, rule.high
	switch position {
	case dayField:
		high = 28 // in every month
	case weekField:
		high = 6
	case yearField:
		return part{}, fmt.Errorf("H cannot stand for the year; write the year")
	}
	if base != "H" {
		inside, ok := strings.CutPrefix(base, "H(")
		inside, closed := strings.CutSuffix(inside, ")")
		lowText, highText, ranged := strings.Cut(inside, "-")
		if !ok || !closed || !ranged {
			return part{}, fmt.Errorf("%q is not understood in the %s; write H, H(%d-%d), H/5 or H(%d-%d)/5", text, rule.name, low, high, low, high)
		}
		var err error
		if low, err = parseValue(position, lowText, text); err != nil {
			return part{}, err
		}
		if high, err = parseValue(position, highText, text); err != nil {
			return part{}, err
		}
		if low > high {
			return part{}, fmt.Errorf("the range of %s in the %s runs backwards; write H(%d-%d)", text, rule.name, high, low)
		}
	}
	if step == 0 {
		value := low + spread.below(position, high-low+1)
		return part{kind: partValue, text: strconv.Itoa(value), low: value, high: value}, nil
	}
	start := low + spread.below(position, min(step, high-low+1))
	return part{kind: partStep, text: fmt.Sprintf("%d-%d/%d", start, high, step), low: start, high: high, step: step}, nil
}

// isModifier distinguishes L, W and # from names that hold the same letters (JUL, WED).
func isModifier(position int, text string) bool {
	switch position {
	case dayField:
		return strings.ContainsAny(text, "LW")
	case weekField:
		return strings.HasSuffix(text, "L") || strings.Contains(text, "#")
	default:
		return false
	}
}

func parseModifier(position int, text string) (part, error) {
	if position == dayField {
		if text == "L" || text == "LW" {
			return part{kind: partModifier, text: text}, nil
		}
		if back, ok := strings.CutPrefix(text, "L-"); ok {
			if days, isNumber := parseDigits(back); isNumber && days >= 1 && days <= 30 {
				return part{kind: partModifier, text: fmt.Sprintf("L-%d", days)}, nil
			}
			return part{}, fmt.Errorf("%q is not understood in the day of month; after L- stands how many days before the last one, 1 to 30", text)
		}
		number, ok := strings.CutSuffix(text, "W")
		if _, isNumber := parseDigits(number); !ok || !isNumber {
			return part{}, fmt.Errorf("%q is not understood in the day of month; write L for the last day, L-3 for three days before it, LW for the last weekday, or 15W for the weekday nearest the 15th", text)
		}
		day, err := parseValue(position, number, text)
		if err != nil {
			return part{}, err
		}
		return part{kind: partModifier, text: fmt.Sprintf("%dW", day)}, nil
	}
	if number, ok := strings.CutSuffix(text, "L"); ok {
		if number == "" {
			return part{}, fmt.Errorf("L alone is not understood in the day of week: some schedulers read it as each Saturday; write SAT for that, or 6L for the last Saturday of the month")
		}
		day, err := parseValue(position, number, text)
		if err != nil {
			return part{}, err
		}
		return part{kind: partModifier, text: fmt.Sprintf("%dL", day%7)}, nil
	}
	number, nthText, _ := strings.Cut(text, "#")
	day, err := parseValue(position, number, text)
	if err != nil {
		return part{}, err
	}
	nth, ok := parseDigits(nthText)
	if !ok || nth < 1 || nth > 5 {
		return part{}, fmt.Errorf("%q is not understood in the day of week; the number after # is 1 to 5, as in 1#2 for the second Monday", text)
	}
	return part{kind: partModifier, text: fmt.Sprintf("%d#%d", day%7, nth)}, nil
}

// parseValue reads a number or a name of the field; whole is what it stands in.
func parseValue(position int, text, whole string) (int, error) {
	rule := fieldRules[position]
	if index := slices.Index(rule.names, text); index >= 0 {
		return rule.low + index, nil
	}
	value, ok := parseDigits(text)
	if !ok {
		return 0, fmt.Errorf("%q is not understood in the %s; write %s", clip(whole), rule.name, fieldHelp(position))
	}
	if value < rule.low || value > rule.high {
		return 0, fmt.Errorf("%s %d is outside %d-%d", rule.name, value, rule.low, rule.high)
	}
	return value, nil
}

func fieldHelp(position int) string {
	switch position {
	case dayField:
		return "1-31, a range such as 1-15, a step such as */2, a list, L, L-3, LW, 15W, H or *"
	case monthField:
		return "1-12 or JAN-DEC, a range, a step such as */3, a list, H or *"
	case weekField:
		return "0-7 or SUN-SAT, a range such as MON-FRI, a list, 5L, 1#2, H or *"
	case yearField:
		return "a year such as 2027, a range, a list or *"
	default:
		rule := fieldRules[position]
		return fmt.Sprintf("%d-%d, a range such as %d-%d, a step such as */5, a list, H or *", rule.low, rule.high, 5, 10)
	}
}

// parseDigits reads up to six decimal digits and nothing else: no sign, no
// space, which strconv.Atoi and so gronx would let pass.
func parseDigits(text string) (int, bool) {
	if text == "" || len(text) > 6 {
		return 0, false
	}
	value := 0
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		value = value*10 + int(digit-'0')
	}
	return value, true
}

func clip(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}

// A hash spreads jobs by their key, the same way on every machine and in every
// release: FNV-1a of the key, finished by the mixer of SplitMix64 so that small
// ranges are evenly used too.
type hash uint64

func newHash(key string) hash {
	sum := uint64(14695981039346656037)
	for _, octet := range []byte(key) {
		sum = (sum ^ uint64(octet)) * 1099511628211
	}
	return hash(sum)
}

// below returns a number from 0 to n-1, another one for each field.
func (h hash) below(position, n int) int {
	mixed := uint64(h) + uint64(position+1)*0x9e3779b97f4a7c15
	mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
	return int((mixed ^ mixed>>31) % uint64(n))
}
