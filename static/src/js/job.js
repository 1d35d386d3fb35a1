// What a job's pages can do with a script: questions in a dialog instead of a page of their own, a payload that is
// checked while it is typed, and arrow keys among the marks of a strip, a chart or a calendar.

function checkPayload(area) {
  const problem = document.getElementById(`${area.id}-problem`);
  let words = "";
  if (area.value.trim()) {
    try {
      JSON.parse(area.value);
    } catch (error) {
      words = `This is not JSON: ${error.message}. Put text in quotes.`;
    }
  }
  area.setAttribute("aria-invalid", words ? "true" : "false");
  area.setCustomValidity(words);
  if (problem) {
    if (problem.textContent !== words) problem.textContent = words;
    problem.hidden = !words;
  }
}

// among returns where an arrow key leads in a list of links: one row, or the seven columns of a calendar.
function among(key, at, count, columns) {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (!step) return -1;
  return Math.min(Math.max(at + step, 0), count - 1);
}

function rove(event) {
  const link = event.target.closest?.("[data-roving] a");
  if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...link.closest("[data-roving]").querySelectorAll("a")];
  const to = among(event.key, links.indexOf(link), links.length, 1);
  if (to < 0) return;
  event.preventDefault();
  for (const other of links) other.setAttribute("tabindex", "-1");
  links[to].removeAttribute("tabindex");
  links[to].focus();
}

// In a calendar the arrow keys go by days and weeks; the Tab key still goes through all days.
function walkDays(event) {
  const link = event.target.closest?.("[data-calendar] a");
  if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
  const cells = [...link.closest("table").querySelectorAll("td")];
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
  if (!step) return;
  for (let at = cells.indexOf(link.parentElement) + step; at >= 0 && at < cells.length; at += step) {
    const next = cells[at].querySelector("a");
    if (next) {
      event.preventDefault();
      next.focus();
      return;
    }
  }
}

export function startJob() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-dialog]");
    const dialog = link && document.getElementById(link.dataset.dialog);
    if (!dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    dialog.showModal();
    dialog.querySelector("textarea, input:not([type='hidden'])")?.focus();
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("textarea[data-json]")) checkPayload(event.target);
  });
  document.addEventListener("keydown", (event) => {
    rove(event);
    walkDays(event);
  });
}
