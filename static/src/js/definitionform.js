// The pages on which a job or a DAG is written. What they need is large and loaded only there; until then, and if it does
// not come, there is the plain text field.

export function startDefinitionForm() {
  start("form[data-jobform]", async (form) => (await import("./editor/form.js")).startForm(form));
  start("form[data-dagform]", async (form) => (await import("./dag/page.js")).startPage(form));
}

function start(selector, load) {
  const form = document.querySelector(selector);
  if (form) load(form).catch((error) => console.warn("the editor could not be loaded; use the text field instead", error));
}
