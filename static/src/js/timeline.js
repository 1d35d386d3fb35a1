// The timeline, and the tides of the overview. Arrow keys lead from bar to bar; what one holds is said beside it when it is
// pointed at or has the focus. The window is moved and zoomed by keys, by dragging and by the wheel: the chart follows at
// once, and the server draws the new window when the hand rests. Without this script links do the same.
import htmx from "htmx.org";

const rest = 180; // milliseconds after which the new window is asked for
const shortest = 600_000; // ten minutes
const longest = 7 * 86_400_000;
const bars = "svg a[aria-label]";

const barOf = (event) => event.target.closest?.(`[data-tides] ${bars}, [data-timeline] ${bars}`);

// Of an SVG only percentages are changed, so that nothing is stretched: x and width of the part that holds the bars.
function show(part, from, until) {
  const drawn = { from: Date.parse(part.dataset.from), until: Date.parse(part.dataset.until) };
  const scale = (drawn.until - drawn.from) / (until - from);
  const left = ((drawn.from - from) / (until - from)) * 100;
  for (const span of part.querySelectorAll("[data-span]")) {
    span.setAttribute("x", `${left}%`);
    span.setAttribute("width", `${scale * 100}%`);
  }
}

let wanted = null; // the window that is shown until the server has drawn it: {from, until, timer}

const windowOf = (part) => wanted ?? { from: Date.parse(part.dataset.from), until: Date.parse(part.dataset.until) };

function ask(part, address) {
  part.dataset.self = address;
  history.replaceState(history.state, "", address);
  htmx.trigger(part, "refresh");
}

function turn(part, from, until) {
  clearTimeout(wanted?.timer);
  show(part, from, until);
  const timer = setTimeout(() => {
    const address = new URL(part.dataset.self, location.href);
    address.searchParams.delete("span");
    address.searchParams.set("from", new Date(Math.round(from / 1000) * 1000).toISOString().replace(".000", ""));
    address.searchParams.set("until", new Date(Math.round(until / 1000) * 1000).toISOString().replace(".000", ""));
    ask(part, address.pathname + address.search);
  }, rest);
  wanted = { from, until, timer };
}

// zoom makes the window longer or shorter; the instant at a fraction of it stays where it is.
function zoom(part, factor, fraction = 0.5) {
  const { from, until } = windowOf(part);
  const length = Math.min(Math.max((until - from) * factor, shortest), longest);
  const at = from + (until - from) * fraction;
  turn(part, at - length * fraction, at + length * (1 - fraction));
}

function pan(part, by) {
  const { from, until } = windowOf(part);
  turn(part, from + (until - from) * by, until + (until - from) * by);
}

// track is where the bars stand, beside their names.
const track = (part) => part.querySelector("[data-lanes] [data-span]")?.ownerSVGElement.getBoundingClientRect();

function wheel(event) {
  const part = event.target.closest?.("[data-lanes]")?.closest("[data-timeline]");
  if (!part) return;
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const box = track(part);
    const fraction = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    // A notch of a wheel is some 100, a pinch sends many small ones.
    zoom(part, Math.exp(Math.min(Math.max(event.deltaY, -100), 100) * 0.0025), fraction);
  } else if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) {
    event.preventDefault();
    pan(part, sideways / track(part).width);
  }
}

let dragged = null; // {part, x, from, until, moved}

function drag(event) {
  const lanes = event.target.closest?.("[data-lanes]");
  if (!lanes || event.button !== 0 || event.target.closest(".lane-name")) return;
  const part = lanes.closest("[data-timeline]");
  dragged = { part, x: event.clientX, ...windowOf(part), moved: false };
}

function dragging(event) {
  if (!dragged) return;
  const by = (dragged.x - event.clientX) / track(dragged.part).width;
  if (!dragged.moved && Math.abs(dragged.x - event.clientX) < 4) return;
  dragged.moved = true;
  const length = dragged.until - dragged.from;
  turn(dragged.part, dragged.from + length * by, dragged.until + length * by);
}

// What was dragged is not clicked.
function dropped() {
  const moved = dragged?.moved;
  dragged = null;
  if (!moved) return;
  const swallow = (event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", swallow, { capture: true }));
}

function focus(from, to) {
  if (!to) return;
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest", inline: "nearest" });
}

const middle = (bar) => {
  const box = bar.querySelector(".hit").getBoundingClientRect();
  return box.left + box.width / 2;
};

// beside is the bar to which an arrow key leads: in the same row of bars, or the nearest of another lane.
function beside(bar, key) {
  const group = bar.closest('[role="group"]');
  const all = [...group.querySelectorAll("a")];
  switch (key) {
    case "ArrowLeft":
    case "ArrowRight":
      return all[Math.min(Math.max(all.indexOf(bar) + (key === "ArrowLeft" ? -1 : 1), 0), all.length - 1)];
    case "Home":
      return all[0];
    case "End":
      return all.at(-1);
  }
  const lanes = [...(bar.closest("[data-lanes]")?.querySelectorAll('svg[role="group"]') ?? [])].filter((lane) => lane.querySelector("a"));
  const other = lanes[lanes.indexOf(group) + (key === "ArrowUp" ? -1 : 1)];
  if (!other) return null;
  const from = middle(bar);
  return [...other.querySelectorAll("a")].reduce((best, one) => (Math.abs(middle(one) - from) < Math.abs(middle(best) - from) ? one : best));
}

function key(event) {
  const part = event.target.closest?.("[data-lanes]")?.closest("[data-timeline]");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    "+": () => zoom(part, 0.5), "=": () => zoom(part, 0.5), "-": () => zoom(part, 2), "0": () => part.querySelector("[data-follow]").click(),
    ...(event.shiftKey && { ArrowLeft: () => pan(part, -0.25), ArrowRight: () => pan(part, 0.25) }),
  };
  if (part && acts[event.key]) {
    event.preventDefault();
    acts[event.key]();
    return;
  }
  const bar = barOf(event);
  if (!bar || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) {
    if (part && event.target.matches("[data-lanes]") && event.key.startsWith("Arrow")) {
      event.preventDefault();
      part.querySelector('.lane-bars a[tabindex="0"]')?.focus();
    }
    return;
  }
  event.preventDefault();
  focus(bar, beside(bar, event.key));
}

let tip = null;

// say shows what a bar holds: below the tides of the overview, beside the bar in a timeline.
function say(bar) {
  const readout = bar.closest("[data-tides]")?.querySelector("[data-readout]");
  const words = bar.getAttribute("aria-label");
  if (readout) {
    readout.textContent = words;
    return;
  }
  tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "lane-tip", ariaHidden: "true" }));
  const [name, ...facts] = words.split(/: (.*)/s).filter(Boolean);
  tip.replaceChildren(
    Object.assign(document.createElement("strong"), { textContent: name }),
    ...facts.join("").split("; ").map((text) => Object.assign(document.createElement("span"), { textContent: text })),
  );
  tip.hidden = false;
  const at = bar.querySelector(".hit").getBoundingClientRect();
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(Math.max(at.left, 0) + Math.min(at.width, 40) / 2 - box.width / 2, 8), innerWidth - box.width - 8);
  const above = at.top - box.height - 6;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 8 ? at.bottom + 6 : above}px`;
}

function hush() {
  if (tip) tip.hidden = true;
}

export function startTimeline() {
  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const bar = dragged ? null : barOf(event);
      if (bar) say(bar);
      else if (name === "focusin" || !event.target.closest?.(".lane-tip")) hush();
    });
  }
  addEventListener("scroll", hush, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hush();
    key(event);
  });
  if (!document.querySelector("[data-timeline]")) return;
  document.addEventListener("wheel", wheel, { passive: false });
  document.addEventListener("pointerdown", drag);
  addEventListener("pointermove", dragging);
  addEventListener("pointerup", dropped);
  addEventListener("pointercancel", dropped);
  document.addEventListener("dragstart", (event) => {
    if (event.target.closest?.("[data-lanes]")) event.preventDefault();
  });
  // The links of other windows change the part only.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-timeline] a[data-window], [data-timeline] .tides a, [data-timeline] a:has(> .many)");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const address = link.getAttribute("href");
    if (!address.startsWith("/timeline?")) return;
    event.preventDefault();
    clearTimeout(wanted?.timer);
    wanted = null;
    ask(link.closest("[data-timeline]"), address);
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const own = event.target.dataset?.timeline === undefined ? undefined : event.target.dataset.self;
    if (own) event.detail.path = own;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    // An answer for a window that has been left meanwhile is of no use.
    if (event.target.dataset?.timeline !== undefined && event.detail.requestConfig?.path !== event.target.dataset.self) event.detail.shouldSwap = false;
    else if (event.target.dataset?.timeline !== undefined && wanted && dragged?.moved) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.dataset?.timeline === undefined) return;
    clearTimeout(wanted?.timer);
    wanted = null;
    for (const span of event.target.querySelectorAll("[data-span]")) {
      span.setAttribute("x", "0");
      span.setAttribute("width", "100%");
    }
    syncForm(event.target);
  });
}

// The form that narrows the timeline keeps the window that is shown.
function syncForm(part) {
  const form = document.querySelector('form.filters[action="/timeline"]');
  if (!form) return;
  for (const hidden of form.querySelectorAll('input[type="hidden"]')) hidden.remove();
  const query = new URL(part.dataset.self, location.href).searchParams;
  for (const name of ["from", "until", "span"]) {
    if (query.has(name)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: query.get(name) }));
  }
}
