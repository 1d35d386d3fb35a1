// A definition as text and as values at once. A change of values touches the text of what changes and nothing else:
// comments, the order of keys and the layout of all other lines stay as the person wrote them.
import { Document, Pair, Scalar, YAMLMap, isCollection, isMap, isNode, isScalar, parseDocument } from "yaml";

const reading = { aliasDuplicateObjects: false };
const writing = { lineWidth: 0, flowCollectionPadding: false, aliasDuplicateObjects: false, verifyAliasOrder: false };

// read returns the values of a text, or in words why it has none. Only a text that is one mapping has values. line is
// where the problem stands, 0 if that is not known.
export function read(text) {
  const document = parseDocument(text, reading);
  const fault = document.errors[0];
  if (fault) return { values: null, line: fault.linePos?.[0].line ?? 0, problem: fault.message.split("\n")[0].replace(/ at line \d+, column \d+:?$/, "") };
  if (document.contents === null) return { values: {}, line: 0, problem: "" };
  if (!isMap(document.contents) || document.contents.flow) return { values: null, line: 0, problem: "It is not a list of keys with values." };
  return { values: document.toJS(), line: 0, problem: "" };
}

// lineOf returns the line of the key at a path; 0 if it is not there.
export function lineOf(text, path) {
  const parent = parseDocument(text, reading).getIn(path.slice(0, -1), true);
  const range = isMap(parent) ? find(parent, path.at(-1))?.key.range : undefined;
  return range ? text.slice(0, range[0]).split("\n").length : 0;
}

// patch sets the value at a path, or takes it away if it is undefined, and returns the smallest change of the text:
// {from, to, insert}; null where nothing changes or the text cannot be read. order says where a new key goes: a list of
// the keys of the whole, or a function that returns the list for the path of a mapping.
export function patch(text, path, value, order = []) {
  return patchAll(text, [{ path, value }], order)?.[0] ?? null;
}

// patchAll does many edits at once and returns the changes of the text in its order; null where the text cannot be read.
// An edit is {path, value}, or {path, name} to give the key at the path another name.
export function patchAll(text, edits, order = []) {
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  if (document.contents === null) document.contents = new YAMLMap();
  if (!isMap(document.contents) || document.contents.flow) return null;
  const patching = new Patching(text, document, order);
  for (const { path, value, name } of edits) {
    if (name === undefined) patching.set(path, value);
    else patching.rename(path, name);
  }
  return patching.changes();
}

// apply returns the text after a change, or after several that follow each other in the text.
export function apply(text, change) {
  const changes = change === null ? [] : [change].flat();
  return changes.reduceRight((whole, { from, to, insert }) => whole.slice(0, from) + insert + whole.slice(to), text);
}

// Patching changes a document, and remembers which of its parts have to be written anew: no larger ones than the pairs
// of mappings in block style, which stand on lines of their own.
class Patching {
  constructor(text, document, order) {
    this.text = text;
    this.document = document;
    this.order = typeof order === "function" ? order : (path) => (path.length === 0 ? order : []);
    this.keys = new Map(); // pair → its new name
    this.scalars = new Set(); // scalars that change where they stand
    this.rewritten = new Set(); // pairs that are written anew
    this.gone = new Map(); // pair → where it stood
    this.fresh = []; // {map, pair, parent}, parent being the pair that holds the map
  }

  // spot goes down to the innermost block mapping on the way: {map, parents, depth}, the next key is path[depth].
  spot(path) {
    let map = this.document.contents;
    const parents = [];
    while (parents.length < path.length - 1) {
      const pair = find(map, path[parents.length]);
      if (!isMap(pair?.value) || pair.value.flow || pair.value.items.length === 0) break;
      parents.push({ map, pair });
      map = pair.value;
    }
    return { map, parents, depth: parents.length };
  }

  set(path, value) {
    const before = this.document.getIn(path);
    if (same(isNode(before) ? before.toJS(this.document) : before, value)) return;
    if (value === undefined) {
      this.take(path);
      return;
    }
    const { map, parents, depth } = this.spot(path);
    const pair = find(map, path[depth]);
    const scalar = this.document.getIn(path, true);
    if (!pair) {
      this.add(map, parents.at(-1)?.pair, path, depth, value);
    } else if (typeof value !== "object" && isScalar(scalar) && scalar.range && inLine(scalar, value)) {
      scalar.value = value;
      scalar.source = undefined;
      if (![Scalar.QUOTE_DOUBLE, Scalar.QUOTE_SINGLE].includes(scalar.type) || typeof value !== "string") {
        scalar.type = typeof value === "string" && quoted(path.at(-1)) ? Scalar.QUOTE_DOUBLE : undefined;
      }
      this.scalars.add(scalar);
    } else {
      this.put(path, value);
      this.rewritten.add(pair);
    }
  }

  rename(path, name) {
    const parent = path.length === 1 ? this.document.contents : this.document.getIn(path.slice(0, -1), true);
    const pair = isMap(parent) ? find(parent, path.at(-1)) : undefined;
    if (!pair) return;
    pair.key.value = name;
    pair.key.source = undefined;
    pair.key.type = undefined;
    if (pair.key.range) this.keys.set(pair, name);
  }

  add(map, parent, path, depth, value) {
    const whole = path.slice(depth + 1).reduceRight((inside, key) => ({ [key]: inside }), value);
    const pair = new Pair(new Scalar(path[depth]), made(whole, path[depth]));
    insert(map, pair, this.order(path.slice(0, depth)));
    if (map.items.length === 1 && parent) {
      map.flow = false;
      this.rewritten.add(parent);
    } else {
      this.fresh.push({ map, pair, parent });
    }
  }

  put(path, value) {
    for (let depth = 1; depth < path.length; depth++) {
      const node = this.document.getIn(path.slice(0, depth), true);
      if (!isMap(node)) this.document.setIn(path.slice(0, depth), made({}, path[depth - 1], path[depth - 1] !== "tasks"));
    }
    const parent = path.length === 1 ? this.document.contents : this.document.getIn(path.slice(0, -1), true);
    if (parent.items.length === 0 && path.length === 2 && isStay(path)) parent.flow = false;
    const old = find(parent, path.at(-1));
    const node = made(value, path.at(-1), isCollection(old?.value) ? old.value.flow === true : undefined);
    if (!old) {
      insert(parent, new Pair(new Scalar(path.at(-1)), node), this.order(path.slice(0, -1)));
      return;
    }
    if (isNode(old.value)) {
      node.comment = old.value.comment;
      node.commentBefore = old.value.commentBefore;
      node.range = old.value.range;
    }
    old.value = node;
  }

  // take removes a value, and what holds nothing without it; a task stays when nothing is written in it.
  take(path) {
    if (!this.document.hasIn(path)) return;
    let at = path;
    while (at.length > 1 && !isStay(at.slice(0, -1)) && this.document.getIn(at.slice(0, -1), true).items.length === 1) at = at.slice(0, -1);
    const { map, parents, depth } = this.spot(at);
    const pair = find(map, at[depth]);
    if (depth < at.length - 1) {
      this.document.deleteIn(at);
      this.rewritten.add(pair);
      return;
    }
    map.items.splice(map.items.indexOf(pair), 1);
    if (pair.key.range) this.gone.set(pair, extent(this.text, pair));
    if (map.items.length === 0 && parents.length > 0) {
      map.flow = true;
      this.rewritten.add(parents.at(-1).pair);
    }
  }

  changes() {
    for (const { map, parent } of this.fresh) {
      // With nothing left to stand behind, the mapping is written anew.
      if (parent && !map.items.some((pair) => pair.key.range)) this.rewritten.add(parent);
    }
    const spans = [...this.gone.values(), ...[...this.rewritten].filter((pair) => pair.key.range).map((pair) => extent(this.text, pair))];
    const covered = (from, to) => spans.some(([start, end]) => start <= from && to <= end && end - start > to - from);
    const found = [];
    for (const [pair, [from, to]] of this.gone) if (!covered(from, to)) found.push({ from, to, insert: "" });
    for (const pair of this.rewritten) {
      if (!pair.key.range || this.gone.has(pair) || covered(...extent(this.text, pair))) continue;
      found.push(this.rewrite(pair));
    }
    for (const [pair] of this.keys) {
      const [from, to] = pair.key.range;
      if (!spans.some(([start, end]) => start <= from && to <= end && !this.inValueOnly(pair, start))) found.push({ from, to, insert: oneLine(pair.key) });
    }
    for (const scalar of this.scalars) {
      const [from, to] = scalar.range;
      if (spans.some(([start, end]) => start <= from && to <= end)) continue;
      const gap = from === to && !/\s$/.test(this.text.slice(0, from)) ? " " : "";
      found.push({ from, to, insert: gap + oneLine(scalar) + (this.text[to] === "#" ? " " : "") });
    }
    for (const change of this.additions()) if (!covered(change.from, change.to) && !spans.some(([start, end]) => start < change.from && change.to < end)) found.push(change);
    return merged(this.text, found);
  }

  // inValueOnly reports whether only the value is written of a pair that is both renamed and rewritten.
  inValueOnly(pair, start) {
    return pair.key.range[0] === start && this.rewritten.has(pair) && !this.gone.has(pair) && this.valueSpan(pair) !== null;
  }

  // valueSpan is where the value of a pair stands, if it can be written anew without its key: small things in a line.
  valueSpan(pair) {
    const node = pair.value;
    if (!isCollection(node) || !node.flow || !node.range) return null;
    const [from, to] = node.range;
    return /^[[{]/.test(this.text.slice(from, to)) ? [from, to] : null;
  }

  rewrite(pair) {
    const span = this.valueSpan(pair);
    if (span) return { from: span[0], to: span[1], insert: oneLine(pair.value) };
    const [start, to] = extent(this.text, pair);
    const from = pair.key.range[0];
    const piece = indented(written(pair), from - lineStart(this.text, from)).trimStart();
    return { from, to, insert: piece + blankEnd(this.text.slice(start, to)) };
  }

  // additions writes the pairs that are new, each behind the one before it.
  additions() {
    const found = new Map(); // place → text
    const seen = new Set();
    for (const { map } of this.fresh) {
      if (seen.has(map)) continue;
      seen.add(map);
      const column = columnOf(this.text, map);
      let at = null;
      for (const pair of map.items) {
        if (pair.key.range) {
          const [from, to] = extent(this.text, pair);
          at = to - blankEnd(this.text.slice(from, to)).length;
          continue;
        }
        if (at === null) {
          const first = map.items.find((other) => other.key.range);
          at = first ? lineStart(this.text, first.key.range[0]) : this.text.length;
        }
        const gap = at > 0 && this.text[at - 1] !== "\n" && !found.has(at) ? "\n" : "";
        found.set(at, (found.get(at) ?? "") + gap + indented(written(pair), column));
      }
    }
    return [...found].map(([at, insert]) => ({ from: at, to: at, insert }));
  }
}

// isStay reports whether a path is the one of a task, or of all of them.
const isStay = (path) => path.length <= 2 && path[0] === "tasks";

const keyOf = (pair) => String(isScalar(pair.key) ? pair.key.value : pair.key);
const find = (map, key) => map.items.find((pair) => keyOf(pair) === String(key));

// insert puts a pair behind those that come before it by order.
function insert(map, pair, order) {
  const rank = (key) => (order.includes(key) ? order.indexOf(key) : order.length);
  let at = 0;
  let best = -1;
  for (const [i, other] of map.items.entries()) {
    const its = rank(keyOf(other));
    if (its > rank(keyOf(pair)) || its < best) continue;
    best = its;
    at = i + 1;
  }
  map.items.splice(at, 0, pair);
}

const inLine = (scalar, value) =>
  scalar.type !== Scalar.BLOCK_LITERAL && scalar.type !== Scalar.BLOCK_FOLDED && !String(value).includes("\n");

// oneLine writes a node as it stands in a line, among others in braces as well as alone.
function oneLine(node) {
  const { comment, commentBefore, spaceBefore } = node;
  Object.assign(node, { comment: undefined, commentBefore: undefined, spaceBefore: undefined });
  const document = new Document([0]);
  document.contents.items[0] = node;
  document.contents.flow = true;
  const text = document.toString(writing).trim().replace(/^\[\s*/, "").replace(/,?\s*\]$/, "");
  Object.assign(node, { comment, commentBefore, spaceBefore });
  return text;
}

// quoted are keys whose values everybody writes in quotes, because most of them begin with a star.
const quoted = (key) => key === "schedule" || key === "exclude";

const lineStart = (text, at) => text.lastIndexOf("\n", at - 1) + 1;

// columnOf is how far the keys of a mapping are indented.
function columnOf(text, map) {
  const at = map.items.find((pair) => pair.key.range)?.key.range[0] ?? 0;
  return at - lineStart(text, at);
}

const indented = (piece, column) => piece.replace(/^(?=.)/gm, " ".repeat(column));

// extent is where a pair stands in the text, with its indentation and what is written behind it, up to the beginning
// of a line.
function extent(text, pair) {
  const start = lineStart(text, pair.key.range[0]);
  const from = /^\s*$/.test(text.slice(start, pair.key.range[0])) ? start : pair.key.range[0];
  let to = (pair.value?.range ?? pair.key.range)[2];
  if (to === 0 || text[to - 1] !== "\n") {
    const end = text.indexOf("\n", to);
    to = end < 0 ? text.length : end + 1;
  }
  return [from, to];
}

// blankEnd is the empty lines at the end of a piece of text.
const blankEnd = (piece) => piece.match(/\n((?:[ \t]*\n)*)$/)?.[1] ?? "";

function written(pair) {
  // What stands before the key is not in its extent.
  pair.key.commentBefore = undefined;
  pair.key.spaceBefore = false;
  const map = new YAMLMap();
  map.items.push(pair);
  const document = new Document();
  document.contents = map;
  return document.toString(writing).replace(/\n+$/, "\n");
}

// made turns a value into nodes: small things in one line, as the examples have them.
function made(value, key, flow) {
  const node = new Document(value, { aliasDuplicateObjects: false }).contents;
  if (isScalar(node) && typeof value === "string" && quoted(key)) node.type = Scalar.QUOTE_DOUBLE;
  if (isCollection(node)) {
    node.flow = flow ?? (key !== "tasks" && JSON.stringify(value).length < 72);
    if (quoted(key)) quoteAll(node);
    if (isMap(node)) for (const pair of node.items) if (quoted(keyOf(pair))) quoteAll(pair.value);
    if (isMap(node) && !node.flow) for (const { value: part } of node.items) if (isCollection(part)) part.flow = JSON.stringify(part).length < 72;
  }
  return node;
}

function quoteAll(node) {
  for (const item of isCollection(node) ? node.items : [node]) if (isScalar(item) && typeof item.value === "string") item.type = Scalar.QUOTE_DOUBLE;
}

// merged leaves out of changes what they do not change, and puts them in their order.
function merged(text, changes) {
  return changes.map((change) => trim(text, change)).filter(Boolean).sort((a, b) => a.from - b.from || a.to - b.to);
}

function trim(text, { from, to, insert }) {
  while (from < to && insert !== "" && text[from] === insert[0]) {
    from++;
    insert = insert.slice(1);
  }
  while (from < to && insert !== "" && text[to - 1] === insert.at(-1)) {
    to--;
    insert = insert.slice(0, -1);
  }
  return from === to && insert === "" ? null : { from, to, insert };
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}
