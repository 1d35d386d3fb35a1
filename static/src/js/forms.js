// Small help in forms: the way from a problem to its line, and choices that act at once.

function toLine(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  const height = area.scrollHeight / Math.max(lines.length, 1);
  area.scrollTop = Math.max((line - 4) * height, 0);
}

export function startForms() {
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
