// The zone in which this page shows and takes times: what the server has written into the page, or, where it does not
// know it yet, that of this browser. The server learns of this browser's zone by a cookie. Reading a typed time goes by
// the rule of cron.Local: a time that the clocks leave out stands for the first moment after, and one that they show
// twice for the first.

const cookie = "tidewheel_reader_zone";
const day = 86_400_000;

export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

// readerZone is that of the reader's profile, where it names one.
const readerZone = () => document.documentElement.dataset.readerZone || browserZone();

export const zone = () => globalThis.document?.documentElement?.dataset?.zone || browserZone();

const made = new Map();

// format returns a formatter of the page's zone, or of another one.
export function format(locale, options, of = zone()) {
  const key = `${locale} ${of} ${JSON.stringify(options)}`;
  if (!made.has(key)) made.set(key, new Intl.DateTimeFormat(locale, { ...options, timeZone: of }));
  return made.get(key);
}

const fields = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

// wall is what the clocks of a zone show at an instant, as fields of kind datetime-local hold it.
export function wall(at, of = zone()) {
  const parts = Object.fromEntries(format("en", fields, of).formatToParts(at).map(({ type, value }) => [type, value]));
  return `${parts.year.padStart(4, "0")}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}:${parts.second}`;
}

const asUTC = (text) => Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`);

// offset is by how much the clocks of a zone are ahead of UTC at an instant, in milliseconds.
const offset = (at, of) => asUTC(wall(new Date(at), of)) - Math.floor(at / 1000) * 1000;

function changeBetween(from, to, of) {
  const before = offset(from, of);
  while (to - from > 1000) {
    const middle = Math.floor((from + to) / 2000) * 1000;
    if (offset(middle, of) === before) from = middle;
    else to = middle;
  }
  return to;
}

// instant reads what a field of kind datetime-local holds. The note says which moment is meant where that is not plain.
export function instant(text, of = zone()) {
  const shown = asUTC(text);
  const [before, after] = [offset(shown - day, of), offset(shown + day, of)];
  const passes = [...new Set([before, after])].map((by) => ({ at: shown - by, by })).filter(({ at, by }) => offset(at, of) === by);
  const words = text.replace("T", " ").slice(0, 16);
  if (passes.length === 0) {
    const at = new Date(changeBetween(shown - day, shown + day, of));
    return { at, note: `${words} does not exist in ${of}: the clocks go forward then. ${wall(at, of).slice(11, 16)} is taken, the first moment after.` };
  }
  const at = new Date(Math.min(...passes.map((pass) => pass.at)));
  if (passes.length === 1) return { at, note: "" };
  return { at, note: `${words} happens twice in ${of}: the clocks go back then. The first is taken, at ${at.toISOString().slice(11, 16)} UTC.` };
}

// tellServer lets the next page know this browser's zone.
function tellServer(known) {
  if (document.cookie.split("; ").includes(`${cookie}=${known}`)) return;
  document.cookie = `${cookie}=${known}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
}

// sayFields names the zone beside fields and columns, and writes what stands in fields anew: the instants stay the same.
function sayFields(known, was) {
  for (const name of document.querySelectorAll("[data-zone-name]")) name.textContent = known;
  for (const input of document.querySelectorAll('input[type="datetime-local"]')) {
    const before = input.form?.querySelector("[data-zone-field]")?.value ?? was;
    if (input.value && before !== known) input.value = wall(instant(input.value, before).at, known).slice(0, input.value.length);
  }
  for (const field of document.querySelectorAll("[data-zone-field]")) field.value = known;
}

// sayNote says below a field how its time is meant, where the clocks show it twice or never.
function sayNote(input) {
  const words = input.value ? instant(input.value).note : "";
  let note = input.parentElement.querySelector(".zone-note");
  if (!note && words) {
    note = Object.assign(document.createElement("span"), { className: "zone-note small" });
    note.setAttribute("role", "status");
    input.after(note);
  }
  if (note) note.textContent = words;
}

// choose shows the page in another zone without loading it again: nothing that was typed is lost.
function choose(form, chosen) {
  const was = zone();
  const known = { "": readerZone(), utc: "UTC", job: chosen.dataset.zoneJob }[chosen.value];
  document.documentElement.dataset.zone = known;
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === chosen));
  sayFields(known, was);
  tellPage();
}

// tellPage has all that is shown in the zone written anew: times here, and what the server has drawn, such as the days
// of a calendar, by the server.
function tellPage() {
  document.dispatchEvent(new Event("tidewheel:zone"));
  for (const drawn of document.querySelectorAll("[data-zone-drawn]")) {
    const part = drawn.closest("[data-live]");
    if (part) part.dispatchEvent(new Event("refresh"));
    else if (document.cookie.includes(`${cookie}=`)) return location.reload();
  }
}

export function startZone() {
  const own = readerZone();
  const was = document.documentElement.dataset.zone ?? "UTC"; // the server has written the page in it
  tellServer(browserZone());
  for (const button of document.querySelectorAll("[data-zone-reader]")) {
    button.textContent = own;
    // The reader has moved, or the server has not known: what is chosen is the browser's own zone.
    if (button.getAttribute("aria-pressed") === "true") document.documentElement.dataset.zone = own;
    const utc = button.form.querySelector('[value="utc"]');
    if (own === "UTC") (utc.getAttribute("aria-pressed") === "true" ? button : utc).remove(); // they mean the same
  }
  sayFields(zone(), was);
  if (zone() !== was) document.addEventListener("DOMContentLoaded", tellPage); // once the parts of the page can be asked for
  document.addEventListener("htmx:afterSwap", () => {
    for (const name of document.querySelectorAll("[data-zone-name]")) name.textContent = zone();
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.('input[type="datetime-local"]')) sayNote(event.target);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches?.("[data-zone-choice]") || !event.submitter) return;
    event.preventDefault();
    fetch(form.action, { method: "POST", body: new URLSearchParams({ zone: event.submitter.value }), redirect: "manual" })
      .then(() => choose(form, event.submitter))
      .catch(() => form.submit());
  });
}
