// Small help in forms: the way from a problem to its line, choices that act at once, and the names of zones.

function toLine(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  const height = area.scrollHeight / Math.max(lines.length, 1);
  area.scrollTop = Math.max((line - 4) * height, 0);
}

// offerZones completes the names of time zones.
function offerZones() {
  for (const field of document.querySelectorAll("[data-zones]")) field.list.append(...["UTC", ...Intl.supportedValuesOf("timeZone")].map((zone) => new Option(undefined, zone)));
}

export function startForms() {
  offerZones();
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-line]");
    const area = document.querySelector("textarea[data-definition]");
    if (!link || !area) return;
    event.preventDefault();
    toLine(area, Number(link.dataset.line));
  });
  // A filter that is chosen from a list acts at once.
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-submit]")) event.target.form.requestSubmit();
  });
}
