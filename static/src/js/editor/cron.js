// The simple schedules, between an expression and the choices that make it.

const days = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

// build makes an expression of {preset, minutes, minute, time, weekday, monthday}; "" for a preset it does not know.
export function build({ preset, minutes, minute, time, weekday, monthday }) {
  const [hour, past] = (time || "00:00").split(":").map(Number);
  switch (preset) {
    case "minutes":
      return minutes === "1" ? "* * * * *" : `*/${minutes} * * * *`;
    case "hourly":
      return `${Number(minute) || 0} * * * *`;
    case "daily":
      return `${past} ${hour} * * *`;
    case "weekdays":
      return `${past} ${hour} * * MON-FRI`;
    case "weekly":
      return `${past} ${hour} * * ${weekday}`;
    case "monthly":
      return `${past} ${hour} ${monthday} * *`;
    default:
      return "";
  }
}

// parse returns which choices make an expression; preset is "" where none do.
export function parse(expression) {
  const two = (n) => n.padStart(2, "0");
  const text = String(expression ?? "").trim().replace(/\s+/g, " ").toUpperCase();
  if (text === "* * * * *") return { preset: "minutes", minutes: "1" };
  let found = text.match(/^\*\/(2|3|5|10|12|15|20|30) \* \* \* \*$/);
  if (found) return { preset: "minutes", minutes: found[1] };
  found = text.match(/^([0-5]?\d) \* \* \* \*$/);
  if (found) return { preset: "hourly", minute: String(Number(found[1])) };
  found = text.match(/^([0-5]?\d) ([01]?\d|2[0-3]) (\*|[1-9]|[12]\d|3[01]|L) \* (\*|[A-Z]{3}|[0-7]|MON-FRI|1-5)$/);
  if (!found) return { preset: "" };
  const time = `${two(found[2])}:${two(found[1])}`;
  const [, , , monthday, weekday] = found;
  if (monthday !== "*") return weekday === "*" ? { preset: "monthly", time, monthday } : { preset: "" };
  if (weekday === "*") return { preset: "daily", time };
  if (weekday === "MON-FRI" || weekday === "1-5") return { preset: "weekdays", time };
  const day = /\d/.test(weekday) ? days[Number(weekday)] : weekday;
  return days.includes(day) ? { preset: "weekly", time, weekday: day } : { preset: "" };
}
