// Shows each <time data-form="…"> in the zone of the page (zone.js). The server has written it so, in UTC where it did not
// know the zone yet, or in words that were true when the page was made; the title keeps both, so that no one has to guess
// a zone. The words are those of templates/time.go.

import { format } from "./zone.js";

const local = () => format("sv-SE", { dateStyle: "short", timeStyle: "medium" }); // 2026-11-20 18:05:03
export const clock = () => format("sv-SE", { timeStyle: "short" }); // 18:05
const day = () => format("en-GB", { day: "numeric", month: "short" }); // 20 Nov

function zoneName(at) {
  return format("en", { timeZoneName: "short" }).formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "";
}

export function span(milliseconds) {
  const s = Math.floor(milliseconds / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

function elapsed(milliseconds) {
  const s = Math.max(Math.floor(milliseconds / 1000), 0);
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
}

function relative(milliseconds) {
  if (Math.abs(milliseconds) < 1000) return "now";
  return milliseconds > 0 ? `${span(milliseconds)} ago` : `in ${span(-milliseconds)}`;
}

function show(element) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  const past = Date.now() - at.getTime();
  let text;
  switch (element.dataset.form) {
    case "relative":
      text = relative(past);
      break;
    case "elapsed":
      text = elapsed(past);
      break;
    case "clock":
      text = clock().format(at);
      break;
    case "day": {
      // In a row of columns each day stands over its first.
      const before = element.closest("th")?.previousElementSibling?.querySelector('[data-form="day"]');
      const words = day().format(at);
      text = before && day().format(new Date(before.dateTime)) === words ? "" : words;
      break;
    }
    default:
      text = local().format(at);
  }
  if (element.textContent !== text) element.textContent = text;
  const utc = `${element.dateTime.slice(0, 19).replace("T", " ")} UTC`;
  const title = `${local().format(at)} ${zoneName(at)} · ${utc}`;
  if (element.title !== title) element.title = title;
}

export function showAll(root, selector = "time[data-form]") {
  for (const element of root.querySelectorAll(selector)) show(element);
}

export function startTimes() {
  showAll(document);
  // After a swap, before the browser paints: no time flickers.
  document.addEventListener("htmx:afterSwap", () => showAll(document));
  document.addEventListener("tidewheel:zone", () => showAll(document));
  setInterval(() => {
    if (!document.hidden) showAll(document, 'time[data-form="relative"], time[data-form="elapsed"]');
  }, 1000);
}
