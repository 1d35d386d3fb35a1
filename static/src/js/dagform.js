// The page on which a DAG is drawn and written. What it needs is large and loaded only there; until then, and if it does
// not come, there is the plain text field.

export function startDagForm() {
  const form = document.querySelector("form[data-dagform]");
  if (!form) return;
  import("./dag/page.js")
    .then(({ startPage }) => startPage(form))
    .catch((error) => console.warn("the editor could not be loaded; use the text field instead", error));
}
