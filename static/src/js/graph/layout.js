// Where tasks stand: layered, from left to right. A graph that people can take in at a glance is laid out by dagre,
// whose edges go around tasks. Its time grows with the square and more (1,000 tasks: seconds to minutes), so a larger
// graph is laid out by layers alone, and a layer of many tasks becomes a block of several columns.
import dagre from "@dagrejs/dagre";
import { layers, neighbours } from "./structure.js";

export const size = { width: 208, height: 64, across: 84, between: 22, margin: 40 };

const glance = { tasks: 120, edges: 240, layer: 24 };
const rows = 32; // of a block
const sweeps = 6;

// layout returns {places: name → {x, y, layer}, routes: edge → [[x, y], …], closing, width, height}; x and y are the
// upper left corner of a task. tasks are names, edges are {from, to} between them.
export function layout(tasks, edges) {
  const { layer, closing } = layers(tasks, edges);
  const columns = [];
  for (const name of tasks) (columns[layer.get(name)] ??= []).push(name);
  const widest = Math.max(0, ...columns.map((column) => column.length));
  const small = tasks.length <= glance.tasks && edges.length <= glance.edges && widest <= glance.layer;
  const found = small ? byDagre(tasks, edges, closing) : byLayers(columns, edges, layer, closing);
  for (const [name, place] of found.places) place.layer = layer.get(name);
  return { ...found, closing };
}

function byDagre(tasks, edges, closing) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: size.between, ranksep: size.across, edgesep: 12, marginx: size.margin, marginy: size.margin, ranker: "tight-tree" });
  for (const name of tasks) graph.setNode(name, { width: size.width, height: size.height });
  for (const edge of edges) if (!closing.has(edge)) graph.setEdge(edge.from, edge.to, {});
  dagre.layout(graph);
  const places = new Map();
  for (const name of tasks) {
    const { x, y } = graph.node(name);
    places.set(name, { x: Math.round(x - size.width / 2), y: Math.round(y - size.height / 2) });
  }
  const routes = new Map();
  for (const edge of edges) {
    const points = closing.has(edge) ? [] : graph.edge(edge.from, edge.to).points.slice(1, -1);
    // One point in the middle is dagre's own, between neighbours; more of them lead around tasks.
    routes.set(edge, ends(places, edge, points.length > 1 ? points.map(({ x, y }) => [Math.round(x), Math.round(y)]) : []));
  }
  const { width, height } = graph.graph();
  return { places, routes, width: tasks.length ? width : 0, height: tasks.length ? height : 0 };
}

const ends = (places, { from, to }, between = []) => [
  [places.get(from).x + size.width, places.get(from).y + size.height / 2],
  ...between,
  [places.get(to).x, places.get(to).y + size.height / 2],
];

function byLayers(columns, edges, layer, closing) {
  const straight = edges.filter((edge) => !closing.has(edge));
  const needs = neighbours(straight, "to", "from");
  const dependants = neighbours(straight, "from", "to");
  sort(columns, needs, dependants);
  const places = new Map();
  let x = size.margin;
  let height = 0;
  const step = size.height + size.between;
  const tallest = Math.min(rows, Math.max(...columns.map((column) => column.length)));
  for (const column of columns) {
    const wide = Math.ceil(column.length / rows);
    const deep = Math.ceil(column.length / wide);
    const top = size.margin + ((tallest - deep) * step) / 2;
    for (const [i, name] of column.entries()) {
      places.set(name, { x: x + (i % wide) * (size.width + size.between), y: Math.round(top + Math.floor(i / wide) * step) });
    }
    height = Math.max(height, top + deep * step);
    x += wide * (size.width + size.between) - size.between + size.across * (wide > 1 ? 2 : 1);
  }
  const routes = new Map(edges.map((edge) => [edge, ends(places, edge)]));
  return { places, routes, width: x - size.across + size.margin, height: height - size.between + size.margin };
}

// sort puts each layer in the order of the middle of what its tasks are joined with, forth and back.
function sort(columns, needs, dependants) {
  const at = new Map();
  const note = (column) => {
    for (const [i, name] of column.entries()) at.set(name, (i + 0.5) / column.length);
  };
  for (const column of columns) note(column);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const forth = sweep % 2 === 0;
    for (const column of forth ? columns : columns.toReversed()) {
      const middle = new Map();
      for (const name of column) {
        const joined = (forth ? needs : dependants).get(name) ?? [];
        middle.set(name, joined.length === 0 ? at.get(name) : joined.reduce((sum, other) => sum + at.get(other), 0) / joined.length);
      }
      column.sort((a, b) => middle.get(a) - middle.get(b));
      note(column);
    }
  }
}

// curve is the way through the points of a route, as the d of an SVG path: level at both ends.
export function curve(points) {
  let [x, y] = points[0];
  let d = `M${x} ${y}`;
  const [first, last] = [points[0], points.at(-1)];
  if (last[0] <= first[0]) {
    // It leads back: around, as an S.
    const reach = 60 + Math.abs(last[1] - first[1]) / 6;
    return `${d}C${first[0] + reach} ${first[1]} ${last[0] - reach} ${last[1]} ${last[0]} ${last[1]}`;
  }
  for (const [nextX, nextY] of points.slice(1)) {
    const middle = (x + nextX) / 2;
    d += y === nextY ? `L${nextX} ${nextY}` : `C${middle} ${y} ${middle} ${nextY} ${nextX} ${nextY}`;
    [x, y] = [nextX, nextY];
  }
  return d;
}
