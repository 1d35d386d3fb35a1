// The page on which a job is written. What it needs is large and loaded only there; until then, and if it does not
// come, there is the plain text field.

export function startJobForm() {
  const form = document.querySelector("form[data-jobform]");
  if (!form) return;
  import("./editor/form.js")
    .then(({ startForm }) => startForm(form))
    .catch((error) => console.warn("the form could not be loaded; use the text field instead", error));
}
