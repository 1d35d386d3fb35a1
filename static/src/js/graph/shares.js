import { svg } from "./element.js";

// shares is a bar of how parts of a whole stand.
export function shares(parts) {
  const bar = svg("svg", { class: "graph-shares", width: "100%", height: 6, "aria-hidden": "true" });
  let at = 0;
  for (const { tone, share } of parts) {
    bar.append(svg("rect", { class: tone, x: `${(at * 100).toFixed(2)}%`, y: 0, width: `${(share * 100).toFixed(2)}%`, height: 6 }));
    at += share;
  }
  return bar;
}
