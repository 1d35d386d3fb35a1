// The command palette: opened by Ctrl-K, ⌘-K or the button in the head. What it needs is loaded when it is first opened.
import { visit } from "./palette/recent.js";

// The pages of jobs, DAGs and binaries that were looked at are offered again.
function noteVisit() {
  const found = location.pathname.match(/^\/(jobs|dags|binaries)\/([A-Za-z0-9_-]+)$/);
  if (!found || found[2] === "new" || found[2] === "upload" || !document.querySelector("main h1")) return;
  if (document.querySelector(".alone")) return; // there is no such thing
  visit({ kind: { jobs: "job", dags: "dag", binaries: "binary" }[found[1]], name: found[2], href: location.pathname });
}

const open = () => import("./palette/box.js").then(({ openPalette }) => openPalette());

export function startPalette() {
  noteVisit();
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-palette]")) open();
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      event.stopPropagation(); // editors have a use of their own for it
      open();
    },
    { capture: true },
  );
}
