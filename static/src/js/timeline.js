// The timeline's bars: what one holds is said below when it is pointed at or has the focus, in the reader's zone, and
// arrow keys lead from bar to bar. Without this script a table says the same.

const clock = new Intl.DateTimeFormat("sv-SE", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short" });

function say(bar) {
  const from = new Date(bar.dataset.from);
  const until = new Date(bar.dataset.until);
  const label = bar.getAttribute("aria-label"); // "21 Nov 09:30 to 10:00 UTC: 12 runs: …"
  const held = label.slice(label.indexOf(": ") + 2);
  const words = `${day.format(from)}, ${clock.format(from)} to ${clock.format(until)}: ${held}`;
  bar.closest("[data-timeline]").querySelector("[data-readout]").textContent = words;
}

const barOf = (event) => event.target.closest?.("[data-timeline] svg a");

export function startTimeline() {
  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const bar = barOf(event);
      if (bar) say(bar);
    });
  }
  document.addEventListener("keydown", (event) => {
    const bar = barOf(event);
    if (!bar) return;
    const bars = [...bar.ownerSVGElement.querySelectorAll("a")];
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -bars.length, End: bars.length };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const next = bars[Math.min(Math.max(bars.indexOf(bar) + step, 0), bars.length - 1)];
    bar.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
