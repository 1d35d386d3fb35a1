// The graph as a picture of its own: SVG with the colours that it has now.
import { curve, size } from "./layout.js";

const escape = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function picture(graph) {
  const probe = document.createElement("span");
  graph.root.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const [ground, surface, line, ink, soft, accent] = ["ground", "surface", "edge", "ink", "ink-soft", "accent"].map(colour);
  probe.remove();
  const { width, height, places, routes } = graph.laid;
  const edges = [...routes.values()].map((route) => `<path d="${curve(route)}" fill="none" stroke="${line}" stroke-width="1.5" marker-end="url(#arrow)"/>`);
  const tasks = [...places].map(([name, { x, y }]) => {
    const task = graph.tasks.get(name);
    const said = task.detail ?? "";
    return `<g transform="translate(${x} ${y})"><rect width="${size.width}" height="${size.height}" rx="9" fill="${surface}" stroke="${(graph.needs.get(name) ?? []).length === 0 ? accent : line}"/>` +
      `<text x="14" y="26" fill="${ink}" font-weight="600">${escape(cut(name, 24))}</text><text x="14" y="46" fill="${soft}" font-size="12">${escape(cut(said, 28))}</text></g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="14">` +
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" fill="${line}"/></marker></defs>` +
    `<rect width="100%" height="100%" fill="${ground}"/>${edges.join("")}${tasks.join("")}</svg>\n`;
}
