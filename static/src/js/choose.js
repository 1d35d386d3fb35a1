// Choosing several in a list: all at once, a range with Shift, and how many they are. The choice itself are check boxes of a form,
// which sends it without a script, too.

const boxes = (form) => [...form.querySelectorAll("td .choose input")];

let last; // the box that was clicked last, where a range begins

function count(form) {
  const all = boxes(form);
  const chosen = all.filter((box) => box.checked).length;
  const words = form.querySelector("[data-chosen-count]");
  if (words) words.textContent = form.querySelector("[data-choose-all]:checked") ? "all that match" : `${chosen} chosen`;
  const every = form.querySelector("th .choose input");
  if (!every) return;
  every.checked = chosen > 0 && chosen === all.length;
  every.indeterminate = chosen > 0 && chosen < all.length;
}

// addEvery puts the box that chooses all into the head of a list: without a script it would do nothing.
function addEvery() {
  for (const head of document.querySelectorAll("[data-choose] .choosable th.chooses")) {
    if (head.querySelector(".choose")) continue;
    const label = Object.assign(document.createElement("label"), { className: "choose" });
    label.append(Object.assign(document.createElement("input"), { type: "checkbox", ariaLabel: "Choose all on this page" }));
    head.prepend(label);
    count(head.closest("form"));
  }
}

export function startChoose() {
  addEvery();
  document.addEventListener("htmx:afterSwap", addEvery); // a list that was fetched again has none
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-choose-all]")) count(event.target.form);
    const box = event.target.closest?.("[data-choose] .choose input");
    if (!box) return;
    const form = box.form;
    const all = boxes(form);
    if (box.closest("th")) for (const one of all) one.checked = box.checked;
    else {
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      if (event.shiftKey && from >= 0) for (const one of all.slice(from, to)) one.checked = box.checked;
      last = box;
    }
    count(form);
  });
  document.addEventListener("reset", (event) => {
    if (event.target.matches?.("[data-choose]")) setTimeout(() => count(event.target)); // it is reset after this event
  });
}
