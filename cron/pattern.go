package cron

import "math/bits"

const (
	firstYear = 1970
	lastYear  = 2199

	secondsPerDay = 24 * 60 * 60

	allSixty  = 1<<60 - 1
	allHours  = 1<<24 - 1
	allDays   = 0xFFFFFFFE // bits 1..31
	allMonths = 0x1FFE     // bits 1..12
	allWeek   = 0x7F       // bits 0..6, Sunday first
)

// A wall is a wall-clock time as seconds since 1970-01-01T00:00:00 on that same
// clock. It is no instant: what instant it is, a zone decides.
type wall = int64

// A pattern is an expression compiled into sets, one bit a value.
type pattern struct {
	second, minute uint64
	hour           uint32
	day            uint32 // days of the month, bits 1..31
	month          uint16
	week           uint8 // days of the week, bits 0..6
	either         bool  // a day is due by day or by week; otherwise it must be by both
	shapes         *[monthShapes]uint32
	years          *yearSet // nil: every year
}

// A yearSet holds one bit for each year from firstYear on.
type yearSet [(lastYear - firstYear + 64) / 64]uint64

func (s *yearSet) add(year int) { s[(year-firstYear)/64] |= 1 << uint((year-firstYear)%64) }

func (s *yearSet) has(year int) bool {
	return year >= firstYear && year <= lastYear && s[(year-firstYear)/64]&(1<<uint((year-firstYear)%64)) != 0
}

func (s *yearSet) empty() bool { return *s == yearSet{} }

// monthShapes counts the kinds of month there are: 28 to 31 days, beginning on
// any of seven days of the week. L, W and # depend on nothing else.
const monthShapes = 4 * 7

func monthShape(length, firstWeekday int) int { return (length-28)*7 + firstWeekday }

func (p *pattern) yearDue(year int) bool { return p.years == nil || p.years.has(year) }

// daysOf returns the due days of a month, which itself must be due.
func (p *pattern) daysOf(length, firstWeekday int) uint32 {
	if p.shapes != nil {
		return p.shapes[monthShape(length, firstWeekday)]
	}
	return combineDays(p.day, weekDays(p.week, firstWeekday), p.either) & monthDays(length)
}

func combineDays(day, week uint32, either bool) uint32 {
	if either {
		return day | week
	}
	return day & week
}

func monthDays(length int) uint32 { return uint32(1)<<uint(length+1) - 2 }

// weekDays turns a set of days of the week into the days 1..31 of a month that
// begins on firstWeekday.
func weekDays(week uint8, firstWeekday int) uint32 {
	turned := uint64(week>>uint(firstWeekday)|week<<uint(7-firstWeekday)) & allWeek
	month := turned | turned<<7 | turned<<14 | turned<<21 | turned<<28
	return uint32(month<<1) & allDays
}

// matches reports whether the pattern names the wall time.
func (p *pattern) matches(at wall) bool {
	day, clock := splitWall(at)
	if p.hour&(1<<uint(clock/3600)) == 0 || p.minute&(1<<uint(clock/60%60)) == 0 || p.second&(1<<uint(clock%60)) == 0 {
		return false
	}
	return p.dayDue(day)
}

func (p *pattern) dayDue(day int64) bool {
	year, month, date := civil(day)
	if p.month&(1<<uint(month)) == 0 || !p.yearDue(year) {
		return false
	}
	return p.daysOf(monthLength(year, month), weekday(day-int64(date)+1))&(1<<uint(date)) != 0
}

// next returns the first wall time at or after from that the pattern names;
// false when there is none up to the end of lastYear.
func (p *pattern) next(from wall) (wall, bool) {
	day, clock := splitWall(from)
	if p.dayDue(day) {
		if found, ok := p.nextClock(clock); ok {
			return day*secondsPerDay + int64(found), true
		}
	}
	day, ok := p.nextDay(day + 1)
	if !ok {
		return 0, false
	}
	first, _ := p.nextClock(0)
	return day*secondsPerDay + int64(first), true
}

// nextClock returns the first due second of a day at or after clock.
func (p *pattern) nextClock(clock int) (int, bool) {
	hour, minute, second := clock/3600, clock/60%60, clock%60
	if p.hour&(1<<uint(hour)) != 0 {
		if p.minute&(1<<uint(minute)) != 0 {
			if rest := p.second >> uint(second); rest != 0 {
				return clock + bits.TrailingZeros64(rest), true
			}
		}
		if rest := p.minute >> uint(minute+1); rest != 0 {
			minute += 1 + bits.TrailingZeros64(rest)
			return hour*3600 + minute*60 + bits.TrailingZeros64(p.second), true
		}
	}
	if rest := p.hour >> uint(hour+1); rest != 0 {
		hour += 1 + bits.TrailingZeros32(rest)
		return hour*3600 + bits.TrailingZeros64(p.minute)*60 + bits.TrailingZeros64(p.second), true
	}
	return 0, false
}

// nextDay returns the first due day at or after day. It looks at each month at
// most once, so it ends after at most 12 × 230 cheap steps.
func (p *pattern) nextDay(day int64) (int64, bool) {
	year, month, date := civil(day)
	for year <= lastYear {
		if !p.yearDue(year) {
			year, month, date = year+1, 1, 1
			continue
		}
		rest := p.month >> uint(month)
		if rest == 0 {
			year, month, date = year+1, 1, 1
			continue
		}
		if skip := bits.TrailingZeros16(rest); skip > 0 {
			month, date = month+skip, 1
		}
		first := dayNumber(year, month, 1)
		if days := p.daysOf(monthLength(year, month), weekday(first)) >> uint(date); days != 0 {
			return first + int64(date+bits.TrailingZeros32(days)) - 1, true
		}
		if month, date = month+1, 1; month > 12 {
			year, month = year+1, 1
		}
	}
	return 0, false
}

// nextUnnamed returns the first wall time after at, which the pattern names,
// that it does not name; false when it names all of them up to the horizon.
// This is what lets a search leap over an exclusion instead of walking it.
func (p *pattern) nextUnnamed(at wall) (wall, bool) {
	day, clock := splitWall(at)
	minuteStart := at - int64(clock%60)
	if rest := (allSixty &^ p.second) >> uint(clock%60); rest != 0 {
		return at + int64(bits.TrailingZeros64(rest)), true
	}
	if p.second != allSixty {
		return minuteStart + 60, true // a bound is enough: the search asks again
	}
	if rest := (allSixty &^ p.minute) >> uint(clock/60%60); rest != 0 {
		return minuteStart + 60*int64(bits.TrailingZeros64(rest)), true
	}
	hourStart := at - int64(clock%3600)
	if p.minute != allSixty {
		return hourStart + 3600, true
	}
	if rest := (allHours &^ p.hour) >> uint(clock/3600); rest != 0 {
		return hourStart + 3600*int64(bits.TrailingZeros32(rest)), true
	}
	if p.hour != allHours {
		return (day + 1) * secondsPerDay, true
	}
	return p.nextUnnamedDay(day)
}

func (p *pattern) nextUnnamedDay(day int64) (wall, bool) {
	year, month, date := civil(day)
	for year <= lastYear {
		first := dayNumber(year, month, 1)
		length := monthLength(year, month)
		var due uint32
		if p.month&(1<<uint(month)) != 0 && p.yearDue(year) {
			due = p.daysOf(length, weekday(first))
		}
		if rest := (monthDays(length) &^ due) >> uint(date); rest != 0 {
			return (first + int64(date+bits.TrailingZeros32(rest)) - 1) * secondsPerDay, true
		}
		if month, date = month+1, 1; month > 12 {
			year, month = year+1, 1
		}
	}
	return 0, false
}

// splitWall returns the day since 1970-01-01 and the second of that day.
func splitWall(at wall) (day int64, clock int) {
	day = at / secondsPerDay
	rest := at % secondsPerDay
	if rest < 0 {
		day, rest = day-1, rest+secondsPerDay
	}
	return day, int(rest)
}

// weekday returns 0 for Sunday; 1970-01-01 was a Thursday.
func weekday(day int64) int {
	index := (day + 4) % 7
	if index < 0 {
		index += 7
	}
	return int(index)
}

// civil and dayNumber are the day-count algorithms of Howard Hinnant's
// "chrono-Compatible Low-Level Date Algorithms" (civil_from_days, days_from_civil).
func civil(day int64) (year, month, date int) {
	z := day + 719468
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	dayOfEra := z - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153
	date = int(dayOfYear - (153*shifted+2)/5 + 1)
	month = int(shifted) + 3
	if month > 12 {
		month -= 12
	}
	year = int(yearOfEra + era*400)
	if month <= 2 {
		year++
	}
	return year, month, date
}

func dayNumber(year, month, date int) int64 {
	if month <= 2 {
		year--
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yearOfEra := year - era*400
	shifted := month - 3
	if month <= 2 {
		shifted = month + 9
	}
	dayOfYear := (153*shifted+2)/5 + date - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return int64(era)*146097 + int64(dayOfEra) - 719468
}

func monthLength(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}
