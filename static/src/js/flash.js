// What the page before has done is said by a toast, once: the address that a reload asks for says nothing of it. Without a
// script the server's note stands at the head of the page.
import { toast } from "./overlays.js";
import { undoBefore } from "./undo.js";

const parameter = "done"; // web/ui/respond.go
const count = "n";

/** What was done on the page before, by its name; null for nothing. */
export const doneBefore = new URLSearchParams(location.search).get(parameter);

export function startFlash() {
  undoBefore();
  if (doneBefore === null) return;
  const address = new URL(location.href);
  address.searchParams.delete(parameter);
  address.searchParams.delete(count);
  history.replaceState(history.state, "", address);
  const note = document.querySelector("[data-notice]");
  if (!note) return;
  toast(note.textContent.trim(), "good");
  note.remove();
}
