// Questions to the JSON Schema of definitions: what may stand at a path, and what it is for.

const resolve = (schema, node) => {
  let at = node;
  while (at?.$ref) at = at.$ref.slice(2).split("/").reduce((inside, key) => inside?.[key], schema);
  return at;
};

// kindOf is what a definition says it is; undefined where it does not say.
export const kindOf = (text) => text.match(/^kind:\s*["']?(\w+)/m)?.[1];

// linesTo returns the lines of a text up to a position, the last of them as far as that.
export const linesTo = (text, position) => text.slice(0, position).split("\n");

// rootOf is the part of the schema for one kind of document; the first one if the kind is not known.
function rootOf(schema, kind) {
  const roots = Object.values(schema.$defs ?? {}).filter((root) => root.properties?.kind);
  return roots.find((root) => root.properties.kind.const === kind) ?? resolve(schema, schema);
}

// at returns what the schema says of a path; undefined where it says nothing.
export function at(schema, kind, path) {
  let node = rootOf(schema, kind);
  for (const key of path) {
    node = resolve(schema, node);
    const branches = [node, ...(node?.anyOf ?? []), ...(node?.oneOf ?? [])].map((branch) => resolve(schema, branch));
    const found = branches.map((branch) => branch?.properties?.[key] ?? (branch?.additionalProperties || undefined)).find(Boolean);
    if (!found || found === true) return undefined;
    node = found;
  }
  return resolve(schema, node);
}

// keys lists what may stand below a path: {name, about, nested}.
export function keys(schema, kind, path) {
  const node = at(schema, kind, path);
  return Object.entries(node?.properties ?? {}).map(([name, below]) => {
    const part = resolve(schema, below);
    return { name, about: about(part), nested: part?.properties !== undefined || part?.type === "array" };
  });
}

// order is that of the top-level keys.
export const order = (schema, kind) => keys(schema, kind, []).map((key) => key.name);

// values lists what a scalar may be, as far as the schema names it.
export function values(schema, kind, path) {
  const node = at(schema, kind, path) ?? {};
  const items = resolve(schema, node.items) ?? {};
  const found = [...(node.enum ?? []), ...(items.enum ?? []), ...(node.const === undefined ? [] : [node.const])];
  if (node.type === "boolean") found.push(true, false);
  for (const value of [node.default, ...(node.examples ?? [])]) {
    if (value !== undefined && (typeof value !== "object" || Array.isArray(value)) && !found.includes(value)) found.push(value);
  }
  return found.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
}

// about says in words what stands at a place of the schema.
export function about(part) {
  if (!part) return "";
  const words = [part.description ?? ""];
  if (part.default !== undefined) words.push(`By default ${typeof part.default === "string" ? part.default : JSON.stringify(part.default)}.`);
  return words.filter(Boolean).join(" ");
}

// pathAt finds from the indentation under which keys a line stands; the last part is the line's own key, "" before
// there is one. lines are those up to and with the line in question, cut off where the writer is.
export function pathAt(lines) {
  const last = lines.at(-1) ?? "";
  const here = keyIn(last);
  let indent = here ? here.indent : last.search(/\S|$/);
  const path = [];
  for (let i = lines.length - 2; i >= 0 && indent > 0; i--) {
    const parent = keyIn(lines[i]);
    if (!parent || parent.indent >= indent || parent.list) continue;
    path.unshift(parent.key);
    indent = parent.indent;
  }
  if (here) path.push(here.key);
  const opened = here && last.slice(here.end).match(/^\s*\{(.*)$/);
  if (!opened) return here ? path : [...path, ""];
  const inside = opened[1].split(",").at(-1).match(/^\s*([\w-]+)\s*:/);
  return [...path, inside ? inside[1] : ""];
}

function keyIn(line) {
  const found = line.match(/^(\s*)(- )?([A-Za-z_][\w.-]*)\s*:(?=\s|$)/);
  return found && { indent: found[1].length, list: found[2] !== undefined, key: found[3], end: found[0].length };
}
