// Views of one thing as tabs, of which the address remembers the chosen one. Without scripts all views are shown.
//
//   <div role="tablist" data-tabs="views"><a role="tab" data-tab="table" href="?tab=table">…</div>
//   <div id="views" data-shows="graph"><div data-view="graph">…
import { remember } from "./address.js";

const parameter = "tab";

export function show(list, name) {
  document.getElementById(list.dataset.tabs).dataset.shows = name;
  for (const tab of list.querySelectorAll("[role='tab']")) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(chosen));
    if (chosen) tab.removeAttribute("tabindex");
    else tab.setAttribute("tabindex", "-1");
  }
  document.dispatchEvent(new CustomEvent("tidewheel:view", { detail: name }));
}

function choose(tab) {
  show(tab.closest("[data-tabs]"), tab.dataset.tab);
  remember(parameter, tab.dataset.tab);
}

// What the address names by its #part is shown, whatever view it is in.
function fromHash() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  const view = target?.closest("[data-view]");
  const list = view && document.querySelector(`[data-tabs="${view.parentElement.id}"]`);
  if (!list) return;
  show(list, view.dataset.view);
  target.scrollIntoView({ block: "center" });
}

export function startViews() {
  document.addEventListener("click", (event) => {
    const tab = event.target.closest?.("[data-tabs] [role='tab']");
    if (!tab || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    choose(tab);
  });
  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest?.("[data-tabs] [role='tab']");
    if (!tab || event.ctrlKey || event.metaKey || event.altKey) return;
    const tabs = [...tab.closest("[data-tabs]").querySelectorAll("[role='tab']")];
    const at = tabs.indexOf(tab);
    const to = { ArrowRight: tabs[(at + 1) % tabs.length], ArrowLeft: tabs.at(at - 1), Home: tabs[0], End: tabs.at(-1), " ": tab }[event.key];
    if (!to) return;
    event.preventDefault();
    choose(to);
    to.focus();
  });
  addEventListener("hashchange", fromHash);
  fromHash();
  if (document.querySelector("[data-graph], [data-gantt]")) {
    import("./graph/view.js").then(({ startGraphs }) => startGraphs(), (error) => console.warn("the graph could not be loaded; the table has the same tasks", error));
  }
}
