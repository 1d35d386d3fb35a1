// Elements of the page, made short.

export function element(name, className = "", attributes = {}, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

// icon is one of the page's sprite: kind is "icon", or "shape" for those of a status.
export function icon(name, kind = "icon") {
  const made = svg("svg", { class: kind === "icon" ? "icon" : "shape", viewBox: "0 0 16 16", "aria-hidden": "true" });
  made.append(svg("use", { href: `#${kind}-${name}` }));
  return made;
}
