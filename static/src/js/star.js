// The star of a favourite, without loading the page again. Its form does the same without a script.
import { refresh } from "./live.js";
import { toast } from "./overlays.js";

async function press(button) {
  const on = button.value === "on";
  const show = (is) => {
    button.setAttribute("aria-pressed", String(is));
    button.value = is ? "off" : "on";
    button.title = is ? "One of your favourites. Press to take the star away." : "Add to your favourites";
  };
  show(on);
  const answer = await fetch(button.getAttribute("formaction") ?? button.form.getAttribute("action"), {
    method: "POST", keepalive: true, headers: { Accept: "application/json" }, body: new URLSearchParams({ favourite: on ? "on" : "off" }),
  }).catch(() => null);
  if (!answer?.ok) {
    show(!on);
    toast("The star could not be kept: try again.", "bad");
  }
  refresh();
}

export function startStars() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-star]");
    if (!button) return;
    event.preventDefault();
    press(button);
  });
}
