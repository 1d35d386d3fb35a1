// What tasks and their edges {from, to} say by themselves, whether or not there are cycles among them.

// pathBetween is a shortest way along the edges, as names with both ends; null if there is none.
export function pathBetween(edges, from, to) {
  const after = neighbours(edges, "from", "to");
  const before = new Map([[from, null]]);
  for (const at of before.keys()) {
    if (at === to && before.size > 1) return back(before, at);
    for (const next of after.get(at) ?? []) if (!before.has(next)) before.set(next, at);
  }
  return from === to ? [from] : null;
}

function back(before, end) {
  const path = [];
  for (let at = end; at !== null; at = before.get(at)) path.unshift(at);
  return path;
}

// neighbours lists by the one end of the edges what is at the other.
export function neighbours(edges, here, there) {
  const found = new Map();
  for (const edge of edges) {
    const list = found.get(edge[here]);
    if (list) list.push(edge[there]);
    else found.set(edge[here], [edge[there]]);
  }
  return found;
}

// refusal says in words why an edge may not be; "" if it may.
export function refusal(edges, from, to) {
  if (from === to) return `${from} cannot need itself`;
  if (edges.some((edge) => edge.from === from && edge.to === to)) return `${to} needs ${from} already`;
  const cycle = pathBetween(edges, to, from);
  return cycle ? `would close a cycle: ${shortened([from, ...cycle]).join(" → ")}` : "";
}

function shortened(path) {
  const shown = 8;
  return path.length <= shown ? path : [...path.slice(0, 4), `(${path.length - 7} more)`, ...path.slice(-3)];
}

// layers gives each task the number of its layer, one more than that of the last thing that it needs. Edges that close
// a cycle are in `closing`, and count for nothing.
export function layers(names, edges) {
  const closing = closingEdges(names, edges);
  const open = edges.filter((edge) => !closing.has(edge));
  const after = neighbours(open, "from", "to");
  const waits = new Map(names.map((name) => [name, 0]));
  for (const { to } of open) waits.set(to, waits.get(to) + 1);
  const layer = new Map(names.map((name) => [name, 0]));
  const ready = names.filter((name) => waits.get(name) === 0);
  for (let i = 0; i < ready.length; i++) {
    for (const next of after.get(ready[i]) ?? []) {
      layer.set(next, Math.max(layer.get(next), layer.get(ready[i]) + 1));
      waits.set(next, waits.get(next) - 1);
      if (waits.get(next) === 0) ready.push(next);
    }
  }
  return { layer, closing };
}

// closingEdges are those that lead back to where a walk in depth has come from.
function closingEdges(names, edges) {
  const out = new Map(names.map((name) => [name, []]));
  for (const edge of edges) out.get(edge.from)?.push(edge);
  const state = new Map(); // 1 on the way, 2 left behind
  const closing = new Set();
  for (const start of names) {
    if (state.has(start)) continue;
    const way = [{ name: start, next: 0 }];
    state.set(start, 1);
    while (way.length > 0) {
      const top = way.at(-1);
      const edge = out.get(top.name)[top.next++];
      if (!edge) {
        state.set(top.name, 2);
        way.pop();
      } else if (state.get(edge.to) === 1) {
        closing.add(edge);
      } else if (!state.has(edge.to)) {
        state.set(edge.to, 1);
        way.push({ name: edge.to, next: 0 });
      }
    }
  }
  return closing;
}
