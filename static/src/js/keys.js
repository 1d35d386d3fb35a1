// Shortcuts: the list of them is templates/shortcuts.go. Single keys act only while nobody types, and can be turned off.

const wait = 1200; // milliseconds that "g" waits for its second key
const places = { o: "/", j: "/jobs", d: "/dags", r: "/runs", t: "/timeline", b: "/binaries", e: "/executors" };
const off = "tidewheel.single-keys-off";

export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing works, too.
  }
}

export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

const linkTo = (path) => document.querySelector(`.head nav a[href="${path}"]`);

function types(event) {
  const target = event.composedPath()[0];
  return !(target instanceof Element) || target.closest('input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable="true"]') !== null;
}

function open(path) {
  location.assign(path);
}

function filter() {
  const fields = document.querySelectorAll('main :is(input[type="search"], .filters input:not([type="hidden"]))');
  const field = [...fields].find((candidate) => candidate.checkVisibility());
  field?.focus();
  field?.select?.();
  return field !== undefined;
}

// press does what a toast offers by this key.
function press(key) {
  const offered = [...document.querySelectorAll(`.toast [data-key="${key}"]`)].at(-1);
  offered?.click();
  return offered !== undefined;
}

// move goes to the row after or before the one that has the focus.
function move(step) {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.checkVisibility() && row.querySelector("a[href]"));
  const here = rows.indexOf(document.activeElement?.closest("tr"));
  const row = rows[here < 0 ? (step > 0 ? 0 : -1) : Math.min(Math.max(here + step, 0), rows.length - 1)];
  if (!row) return false;
  row.querySelector("a[href]").focus();
  row.scrollIntoView({ block: "nearest" });
  return true;
}

export async function showShortcuts() {
  if (document.querySelector("main #shortcuts-list")) return; // the page is that list
  let dialog = document.getElementById("shortcuts");
  if (!dialog) {
    const answer = await fetch("/ui/shortcuts", { headers: { "HX-Request": "true" } });
    if (!answer.ok || document.getElementById("shortcuts")) return;
    dialog = document.createElement("dialog");
    dialog.id = "shortcuts";
    dialog.className = "wide-dialog";
    dialog.setAttribute("aria-labelledby", "shortcuts-title");
    dialog.innerHTML = `<h1 id="shortcuts-title">Keyboard shortcuts</h1>${await answer.text()}<div class="actions"><button type="button" data-closes>Close</button></div>`;
    document.body.append(dialog);
    showChoice(dialog);
  }
  if (!dialog.open) dialog.showModal();
}

function showChoice(root) {
  for (const box of root.querySelectorAll("[data-single-keys]")) box.checked = recall(off) === null;
}

// may reports whether the reader's role allows "operate" or "edit" in the namespace that is shown: what is not allowed is not offered.
export const may = (what) => (document.documentElement.dataset.may ?? "").split(" ").includes(what);

export function startKeys() {
  let going = 0; // until when "g" waits
  showChoice(document);
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-single-keys]")) remember(off, event.target.checked ? null : "yes");
  });
  const single = {
    "?": () => (showShortcuts(), true),
    "/": filter,
    n: () => may("edit") && (open("/jobs/new"), true),
    j: () => move(1),
    k: () => move(-1),
    u: () => press("u"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented || types(event)) return;
    if (document.querySelector("dialog[open]") || recall(off) !== null) return;
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    let done = false;
    if (arrow) done = document.activeElement?.closest("main tbody tr a") !== null && document.activeElement !== document.body && move(arrow);
    else if (going > event.timeStamp && places[event.key] && linkTo(places[event.key])) done = (open(places[event.key]), true);
    else if (event.key === "g") {
      going = event.timeStamp + wait;
      return;
    } else if (Object.hasOwn(single, event.key)) done = single[event.key]();
    going = 0;
    if (done) event.preventDefault();
  });
}
