package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Describe returns the schedule in short English, such as
// "at 03:00, every day, Asia/Dhaka".
func (s *Schedule) Describe() string {
	var text string
	switch s.kind {
	case KindManual:
		return "manual only"
	case KindCron:
		described := make([]string, len(s.expressions))
		for i := range s.expressions {
			described[i] = s.expressions[i].describe()
		}
		text = strings.Join(described, "; ") + ", " + s.zoneName
	case KindEvery:
		text = "every " + durationText(time.Duration(s.interval)*time.Millisecond)
	case KindAfter:
		text = durationText(time.Duration(s.interval)*time.Millisecond) + " after the end of each run"
	case KindAt:
		return "once, at " + s.at.In(s.zone.location).Format("2006-01-02 15:04:05") + ", " + s.zoneName
	}
	if !s.from.IsZero() {
		text += ", from " + s.from.In(s.zone.location).Format("2006-01-02 15:04")
	}
	if !s.until.IsZero() {
		text += ", until " + s.until.In(s.zone.location).Format("2006-01-02 15:04")
	}
	if len(s.exclusions) > 0 {
		except := make([]string, 0, 3)
		for i := range s.exclusions[:min(3, len(s.exclusions))] {
			except = append(except, s.exclusions[i].String())
		}
		if more := len(s.exclusions) - len(except); more > 0 {
			except = append(except, fmt.Sprintf("%d more", more))
		}
		text += ", except " + enumerate(except, "and")
	}
	return text
}

func (e *expression) describe() string {
	if e.every != 0 {
		return "every " + durationText(time.Duration(e.every)*time.Millisecond)
	}
	var fields [fieldCount][]part
	for position, text := range strings.Fields(e.canonical) {
		// The canonical text holds no H, so the hash is not used; it has parsed before.
		fields[position], _ = parseField(position, text, 0)
	}
	clock, daily := describeClock(&fields)
	days := describeDays(&fields)
	switch {
	case days != "":
		return clock + ", " + days
	case daily:
		return clock + ", every day"
	default:
		return clock
	}
}

func isAny(parts []part) bool {
	return slices.ContainsFunc(parts, func(entry part) bool { return entry.kind == partAny })
}

// values returns the numbers of a field that is a plain list of them.
func values(parts []part) ([]int, bool) {
	numbers := make([]int, len(parts))
	for i, entry := range parts {
		if entry.kind != partValue {
			return nil, false
		}
		numbers[i] = entry.low
	}
	slices.Sort(numbers)
	return numbers, true
}

// describeClock spells the hours, minutes and seconds; daily says that a day
// has to be named with it to make sense.
func describeClock(fields *[fieldCount][]part) (text string, daily bool) {
	seconds, minutes, hours := fields[secondField], fields[minuteField], fields[hourField]
	second, plainSecond := values(seconds)
	minute, plainMinute := values(minutes)
	hour, plainHour := values(hours)
	oneSecond := plainSecond && len(second) == 1
	if oneSecond && plainMinute && plainHour && len(minute)*len(hour) <= 6 {
		var times []string
		for _, h := range hour {
			for _, m := range minute {
				clock := fmt.Sprintf("%02d:%02d", h, m)
				if second[0] != 0 {
					clock += fmt.Sprintf(":%02d", second[0])
				}
				times = append(times, clock)
			}
		}
		return "at " + enumerate(times, "and"), true
	}
	onTheMinute := oneSecond && second[0] == 0
	switch {
	case isAny(hours) && isAny(minutes) && isAny(seconds):
		return "every second", false
	case isAny(hours) && isAny(minutes) && onTheMinute:
		return "every minute", false
	case isAny(hours) && isAny(minutes) && evenStep(seconds, 60):
		return fmt.Sprintf("every %d seconds", seconds[0].step), false
	case isAny(hours) && onTheMinute && evenStep(minutes, 60):
		return fmt.Sprintf("every %d minutes", minutes[0].step), false
	case isAny(hours) && onTheMinute && plainMinute && len(minute) == 1 && minute[0] == 0:
		return "every hour", false
	}
	pieces := make([]string, 0, 3)
	if !onTheMinute {
		pieces = append(pieces, phrase(seconds, "second"))
	}
	pieces = append(pieces, phrase(minutes, "minute"), phrase(hours, "hour"))
	text = strings.Join(pieces, " of ")
	if !strings.HasPrefix(text, "every ") {
		text = "at " + text
	}
	return text, !isAny(hours)
}

// evenStep reports whether a field is */n and n divides the whole evenly.
func evenStep(parts []part, whole int) bool {
	return len(parts) == 1 && strings.HasPrefix(parts[0].text, "*/") && parts[0].step > 1 && whole%parts[0].step == 0
}

// phrase spells a field: "minute 5", "minutes 5, 10 and 20 to 30", "every 2nd hour from 9 to 17".
func phrase(parts []part, unit string) string {
	if isAny(parts) {
		return "every " + unit
	}
	if len(parts) == 1 && parts[0].kind == partStep {
		return stepPhrase(parts[0], unit)
	}
	texts := make([]string, len(parts))
	for i, entry := range parts {
		switch entry.kind {
		case partRange:
			texts[i] = fmt.Sprintf("%d to %d", entry.low, entry.high)
		case partStep:
			texts[i] = stepPhrase(entry, unit)
		default:
			texts[i] = entry.text
		}
	}
	if len(parts) > 1 || parts[0].kind == partRange {
		unit += "s"
	}
	return unit + " " + enumerate(texts, "and")
}

func stepPhrase(entry part, unit string) string {
	text := "every " + ordinal(entry.step) + " " + unit
	if entry.step == 1 {
		text = "every " + unit
	}
	if strings.HasPrefix(entry.text, "*/") {
		return text + unevenGap(entry, unit)
	}
	if strings.Contains(entry.text, "-") {
		return fmt.Sprintf("%s from %d to %d", text, entry.low, entry.high)
	}
	return fmt.Sprintf("%s from %d on", text, entry.low)
}

// unevenGap names the values of */n where n does not divide the whole: from the last to the first of the next whole it is shorter.
func unevenGap(entry part, unit string) string {
	whole := map[string]int{"second": 60, "minute": 60, "hour": 24}[unit]
	if whole == 0 || entry.step <= 1 || whole%entry.step == 0 {
		return ""
	}
	last := (whole - 1) / entry.step * entry.step
	return fmt.Sprintf(" (0 to %d, then %d later)", last, whole-last)
}

func describeDays(fields *[fieldCount][]part) string {
	day, week := describeDates(fields[dayField]), describeWeek(fields[weekField])
	var text string
	switch {
	case day != "" && week != "" && eitherDay(fields[dayField], fields[weekField]):
		text = day + " or " + week
	case day != "" && week != "":
		text = day + " if it is " + strings.TrimPrefix(week, "on ")
	default:
		text = day + week
	}
	if months := fields[monthField]; !isAny(months) {
		text = strings.TrimSpace(text + " in " + describeMonths(months))
	}
	if years := fields[yearField]; !isAny(years) {
		if text == "" {
			text = "every day"
		}
		text += " of " + phrase(years, "year")
	}
	return text
}

func describeDates(parts []part) string {
	if isAny(parts) {
		return ""
	}
	var plain []part
	var texts []string
	for _, entry := range parts {
		switch {
		case entry.kind != partModifier:
			plain = append(plain, entry)
		case entry.text == "L":
			texts = append(texts, "the last day of the month")
		case entry.text == "LW":
			texts = append(texts, "the last weekday of the month")
		case strings.HasPrefix(entry.text, "L-"):
			days, unit := strings.TrimPrefix(entry.text, "L-"), "days"
			if days == "1" {
				unit = "day"
			}
			texts = append(texts, days+" "+unit+" before the last day of the month")
		default:
			texts = append(texts, "the weekday nearest day "+strings.TrimSuffix(entry.text, "W")+" of the month")
		}
	}
	if len(plain) > 0 {
		texts = slices.Insert(texts, 0, phrase(plain, "day")+" of the month")
	}
	return "on " + enumerate(texts, "and")
}

func describeWeek(parts []part) string {
	if isAny(parts) {
		return ""
	}
	texts := make([]string, len(parts))
	for i, entry := range parts {
		switch entry.kind {
		case partValue:
			texts[i] = weekdayName(entry.low)
		case partRange:
			texts[i] = weekdayName(entry.low) + " to " + weekdayName(entry.high)
		case partModifier:
			if day, ok := strings.CutSuffix(entry.text, "L"); ok {
				texts[i] = "the last " + weekdayName(int(day[0]-'0')) + " of the month"
			} else {
				texts[i] = "the " + ordinal(int(entry.text[2]-'0')) + " " + weekdayName(int(entry.text[0]-'0')) + " of the month"
			}
		default:
			texts[i] = stepPhrase(entry, "day of the week")
			if low, high, ok := strings.Cut(texts[i], " from "); ok {
				texts[i] = low + " from " + nameDays(high)
			}
		}
	}
	return "on " + enumerate(texts, "and")
}

// nameDays replaces the numbers of "1 to 5" by the names of the days.
func nameDays(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if number, ok := parseDigits(word); ok {
			words[i] = weekdayName(number)
		}
	}
	return strings.Join(words, " ")
}

func weekdayName(day int) string { return time.Weekday(day % 7).String() }

func describeMonths(parts []part) string {
	texts := make([]string, len(parts))
	for i, entry := range parts {
		switch entry.kind {
		case partValue:
			texts[i] = time.Month(entry.low).String()
		case partRange:
			texts[i] = time.Month(entry.low).String() + " to " + time.Month(entry.high).String()
		default:
			texts[i] = phrase([]part{entry}, "month")
		}
	}
	return enumerate(texts, "and")
}

// enumerate joins texts as a sentence does.
func enumerate(texts []string, word string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
