// The panel at the side of a wave or a grid: a task with its log, its attempts and what can be done, without leaving the
// page. It opens from links with data-panel, whose href leads to a page: with Ctrl, or without scripts, they are links.
import htmx from "htmx.org";
import { remember } from "./address.js";
import { openOutput } from "./output.js";
import { refresh } from "./live.js";
import { toast } from "./overlays.js";
import { showAll } from "./time.js";

const parameter = "task"; // of the address: what the panel shows, so that a reload shows it again
const narrow = matchMedia("(max-width: 48rem)");

const panel = { root: null, address: "", opener: null, output: null, asked: 0 };

function build() {
  const root = document.createElement("aside");
  root.className = "task-panel";
  root.setAttribute("aria-labelledby", "task-panel-title");
  root.innerHTML = '<header><h2 id="task-panel-title" tabindex="-1"></h2><button type="button" class="quiet" data-panel-close aria-label="Close the panel" title="Close (Escape)"><svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><use href="#icon-close"></use></svg></button></header><div class="task-panel-body"></div>';
  root.querySelector("[data-panel-close]").addEventListener("click", closePanel);
  document.body.append(root);
  return root;
}

/** Shows what `address` answers. `opener` is where the focus goes back to: an element, or a function that focuses. */
export async function openPanel(address, opener, { focus = true } = {}) {
  const asked = ++panel.asked;
  const answer = await fetch(address, { headers: { "HX-Request": "true" }, cache: "no-store" }).catch(() => null);
  if (asked !== panel.asked) return;
  if (!answer?.ok || answer.redirected) {
    toast(answer?.status === 404 ? "This task has no page: it has not begun, or is not kept any more." : "The server does not answer.", "bad");
    return;
  }
  const text = await answer.text();
  if (asked !== panel.asked) return;
  panel.output?.stop();
  panel.root ??= build();
  panel.opener = opener ?? panel.opener;
  panel.address = address;
  const body = panel.root.querySelector(".task-panel-body");
  body.innerHTML = text;
  showAll(body);
  htmx.process(body);
  const part = body.querySelector(".task-part");
  panel.root.querySelector("#task-panel-title").textContent = part?.dataset.title ?? "Task";
  const box = body.querySelector("[data-output]");
  panel.output = box ? openOutput(box) : null;
  body.scrollTop = 0;
  document.documentElement.classList.add("has-panel");
  for (const other of [...document.body.children]) if (narrow.matches && other !== panel.root && other.nodeName !== "DIALOG" && !other.matches(".toasts")) other.inert = true;
  remember(parameter, panelName(address));
  document.dispatchEvent(new CustomEvent("tidewheel:panel", { detail: address }));
  if (focus) panel.root.querySelector("#task-panel-title").focus({ preventScroll: true });
}

// panelName is what the address of the page says of the panel: the rest of its own.
const panelName = (address) => new URL(address, location.href).pathname.replace("/waves/", "") + new URL(address, location.href).search;

export function closePanel() {
  if (!panel.root) return;
  panel.asked++;
  panel.output?.stop();
  panel.root.remove();
  panel.root = null;
  document.documentElement.classList.remove("has-panel");
  for (const other of document.body.children) other.inert = false;
  remember(parameter, "");
  document.dispatchEvent(new CustomEvent("tidewheel:panel", { detail: "" }));
  const { opener } = panel;
  panel.opener = null;
  if (typeof opener === "function") opener();
  else if (opener?.isConnected) opener.focus({ preventScroll: true });
}

// An attempt that begins while its panel is open shows its own output.
function follow() {
  const part = panel.root?.querySelector(".task-part");
  const latest = part?.querySelector("#task-head")?.dataset.latest;
  if (!part || latest === undefined || Number(latest) <= Number(part.dataset.attempt) || /[?&]attempt=/.test(panel.address)) return;
  openPanel(panel.address, null, { focus: false });
}

async function act(form) {
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) }).catch(() => null);
  if (answer?.ok) {
    toast(form.dataset.panelForm);
  } else {
    const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
    toast(page?.querySelector("main p")?.textContent.trim() || "The server does not answer.", "bad");
  }
  refresh();
  if (panel.root) openPanel(panel.address, null, { focus: false });
}

export function startPanel() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-panel]");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    if (!document.querySelector("[data-panels]")) return; // the page of a task itself leads on
    event.preventDefault();
    openPanel(link.dataset.panel, link.closest(".task-panel") ? null : link);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !panel.root || document.querySelector("dialog[open]") || event.target.closest?.("details.menu[open]")) return;
    event.preventDefault();
    event.stopPropagation();
    closePanel();
  }, { capture: true });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest?.(".task-panel form[data-panel-form]");
    if (!form || event.defaultPrevented) return;
    event.preventDefault();
    act(form);
  });
  document.addEventListener("htmx:afterSwap", follow);
  const asked = new URLSearchParams(location.search).get(parameter);
  if (asked && document.querySelector("[data-panels]")) openPanel(`/waves/${asked}`, null, { focus: false });
}
