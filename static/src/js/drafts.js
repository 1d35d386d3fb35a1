// Keeps what is typed in a form where the session has ended: it is put back when the reader has signed in again and the
// server has led back to the form. It stays in this tab, and only until the next page that is not the way in.
//
// Drafts of definitions are kept longer, see draftstore.js and editor/draft.js.
import { drafts, dropDrafts } from "./draftstore.js";

const key = "tidewheel-draft";
const never = new Set(["file", "password", "submit", "button", "image", "reset"]);

const keeps = (form) =>
  form.method === "post" && !["/login", "/logout"].includes(new URL(form.action).pathname) && form.querySelector("textarea, input:not([type]), input[type='text'], select") !== null;

const named = (form) => [...form.elements].filter((control) => control.name && !never.has(control.type));

const changed = (control) => {
  if (control.type === "checkbox" || control.type === "radio") return control.checked !== control.defaultChecked;
  if (control.nodeName === "SELECT") return [...control.options].some((option) => option.selected !== option.defaultSelected);
  return control.value !== control.defaultValue;
};

// The place of a form among those of the page that send to the same address.
const alike = (action) => [...document.forms].filter((form) => form.getAttribute("action") === action);

function keep(form) {
  const action = form.getAttribute("action");
  const draft = {
    page: location.pathname + location.search, action, nth: alike(action).indexOf(form),
    // Hidden fields, too: they say which version of a definition the reader has changed.
    fields: named(form).map((control) => [control.name, control.type, control.value, Boolean(control.checked)]),
  };
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // It is larger than browsers keep, or they keep nothing.
  }
}

function put(form, fields) {
  const rest = [...fields];
  for (const control of named(form)) {
    const at = rest.findIndex(([name, type, value]) => name === control.name && type === control.type && (type !== "radio" || value === control.value));
    if (at < 0) continue;
    const [[, type, value, checked]] = rest.splice(at, 1);
    if (type === "checkbox" || type === "radio") control.checked = checked;
    else control.value = value;
  }
}

function say(form) {
  const note = Object.assign(document.createElement("p"), {
    className: "note good", role: "status", id: "draft",
    textContent: "Your session had expired, and nothing was sent. Your input is restored below: check it and send it again.",
  });
  form.before(note);
}

function restore({ action, nth, fields }) {
  const form = alike(action)[nth];
  if (!form) return;
  put(form, fields);
  if ("definition" in form.elements) form.dataset.unsaved = ""; // the editor begins with it, and asks before it is left
  say(form);
  form.closest("dialog")?.showModal();
  // What looks at the fields hears of it once all of it is there.
  addEventListener("load", () => {
    for (const control of named(form)) if (control.type !== "hidden") control.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// keepDrafts keeps the form on the page that the reader has changed, before the page is left without being asked.
export function keepDrafts() {
  const form = [...document.forms].find((one) => keeps(one) && named(one).some(changed));
  if (form) keep(form);
}

// Who signs out leaves no drafts behind, and is asked before they go.
function startSignOut() {
  const leaves = (event) => event.target.matches?.('form[action="/logout"]');
  document.addEventListener("submit", (event) => {
    if (!leaves(event)) return;
    const titles = drafts().map(({ title }) => title);
    if (titles.length > 0) event.target.dataset.confirm = `Signing out removes what you have not saved: ${titles.join(", ")}.`;
    else delete event.target.dataset.confirm;
  }, { capture: true });
  window.addEventListener("submit", (event) => { // after the question, see overlays.js
    if (leaves(event) && !event.defaultPrevented) dropDrafts();
  });
}

export function startDrafts() {
  startSignOut();
  document.addEventListener("submit", (event) => {
    if (event.target instanceof HTMLFormElement && keeps(event.target)) keep(event.target);
    else if (event.target.method === "post" && !location.pathname.startsWith("/login")) sessionStorage.removeItem(key);
  });
  if (location.pathname === "/login") return;
  const draft = JSON.parse(sessionStorage.getItem(key) ?? "null");
  sessionStorage.removeItem(key);
  const signedIn = document.referrer !== "" && new URL(document.referrer).pathname === "/login";
  if (draft && signedIn && draft.page === location.pathname + location.search) restore(draft);
}
