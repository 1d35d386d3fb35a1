// The grid of tasks and waves is one stop of the Tab key: arrow keys go from cell to cell, and the newest waves are in
// sight first.

function step(cell, key) {
  const row = cell.parentElement;
  const column = cell.cellIndex;
  const rows = [...row.parentElement.rows];
  const at = rows.indexOf(row);
  switch (key) {
    case "ArrowLeft":
      return [...row.cells].slice(0, column).reverse();
    case "ArrowRight":
      return [...row.cells].slice(column + 1);
    case "ArrowUp":
      return rows.slice(0, at).reverse().map((other) => other.cells[column]);
    case "ArrowDown":
      return rows.slice(at + 1).map((other) => other.cells[column]);
    case "Home":
      return [...row.cells].slice(1);
    case "End":
      return [...row.cells].slice(1).reverse();
  }
  return [];
}

function walk(event) {
  const link = event.target.closest?.("[data-grid] td a");
  if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = step(link.closest("td"), event.key).find((cell) => cell?.querySelector("a"))?.querySelector("a");
  if (!next) return;
  event.preventDefault();
  for (const other of link.closest("table").querySelectorAll("td a")) other.setAttribute("tabindex", "-1");
  next.removeAttribute("tabindex");
  next.focus();
}

export function startGrid() {
  for (const box of document.querySelectorAll(".grid-scroll")) box.scrollLeft = box.scrollWidth;
  document.addEventListener("keydown", walk);
}
