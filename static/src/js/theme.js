// The choice of colours, without loading the page again. The form does the same without a script.

export function startTheme() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const chosen = event.submitter;
    if (!form.matches?.("[data-theme-choice]") || !chosen) return;
    event.preventDefault();
    const body = new URLSearchParams({ theme: chosen.value });
    fetch(form.action, { method: "POST", body, redirect: "manual" })
      .then(() => show(form, chosen))
      .catch(() => form.submit());
  });
}

function show(form, chosen) {
  if (chosen.value) document.documentElement.dataset.theme = chosen.value;
  else delete document.documentElement.dataset.theme;
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === chosen));
}
