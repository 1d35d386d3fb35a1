// What changes of a graph mean for the definition: lists of edits for the editor, {path, value} or {path, name}.
// tasks are those of model.js.

const at = (name, ...keys) => ["tasks", name, ...keys];

// needsEdits sets what a task needs. A task that needs something has no schedule of its own, and one that needs nothing
// has no trigger rule: the definition would be refused.
export function needsEdits(task, needs) {
  const edits = [{ path: at(task.name, "needs"), value: needs.length === 0 ? undefined : needs }];
  const rest = needs.length > 0 ? ["schedule", "timezone"] : ["trigger"];
  for (const key of rest) if (task.values[key] !== undefined) edits.push({ path: at(task.name, key), value: undefined });
  return edits;
}

export function connect(tasks, from, to) {
  const task = tasks.find(({ name }) => name === to);
  return needsEdits(task, [...task.needs, from]);
}

export function disconnect(tasks, edges) {
  return tasks.flatMap((task) => {
    const cut = edges.filter(({ to }) => to === task.name).map(({ from }) => from);
    return cut.length === 0 ? [] : needsEdits(task, task.needs.filter((need) => !cut.includes(need)));
  });
}

// remove takes tasks away; what needed them needs them no more.
export function remove(tasks, names) {
  const gone = new Set(names);
  return [
    ...tasks.filter(({ name, needs }) => !gone.has(name) && needs.some((need) => gone.has(need)))
      .flatMap((task) => needsEdits(task, task.needs.filter((need) => !gone.has(need)))),
    ...names.map((name) => ({ path: at(name), value: undefined })),
  ];
}

export function add(name, { binary, needs = [] }) {
  return [{ path: at(name), value: { ...(binary ? { binary } : {}), ...(needs.length > 0 ? { needs } : {}) } }];
}

// duplicate copies tasks with the edges among them; to what is not copied the copies have the same edges. It returns
// {edits, names}.
export function duplicate(tasks, names) {
  const taken = new Set(tasks.map(({ name }) => name.toLowerCase()));
  const copies = new Map();
  for (const name of names) {
    const fresh = freeName(name.replace(/-\d{1,3}$/, ""), taken);
    taken.add(fresh.toLowerCase());
    copies.set(name, fresh);
  }
  const edits = tasks.filter(({ name }) => copies.has(name)).map((task) => {
    const value = structuredClone(task.values);
    if (task.needs.length > 0) value.needs = task.needs.map((need) => copies.get(need) ?? need);
    for (const [name, fresh] of copies) Object.assign(value, renamedReferences(value, name, fresh));
    return { path: at(copies.get(task.name)), value };
  });
  return { edits, names: [...copies.values()] };
}

// rename gives a task another name, wherever it is named.
export function rename(tasks, old, name) {
  const edits = tasks.flatMap((task) => {
    const changed = renamedReferences(task.values, old, name);
    if (task.needs.includes(old)) changed.needs = task.needs.map((need) => (need === old ? name : need));
    return Object.entries(changed).map(([key, value]) => ({ path: at(task.name, key), value }));
  });
  return [...edits, { path: at(old), name }];
}

// renamedReferences are those keys of a task that read the output of another one, with its new name.
function renamedReferences(values, old, name) {
  const changed = {};
  const put = (key, fresh) => {
    if (JSON.stringify(fresh) !== JSON.stringify(values[key])) changed[key] = fresh;
  };
  for (const key of ["when", "for_each"]) if (typeof values[key] === "string") put(key, inExpression(values[key], old, name));
  const text = (value) => (typeof value === "string" ? value.replaceAll(`\${outputs.${old}.`, `\${outputs.${name}.`) : value);
  if (Array.isArray(values.args)) put("args", values.args.map(text));
  if (values.env && typeof values.env === "object") put("env", Object.fromEntries(Object.entries(values.env).map(([key, value]) => [key, text(value)])));
  return changed;
}

const plain = /^[A-Za-z_]\w*$/;

// inExpression changes outputs.old and outputs["old"], and leaves texts in quotes alone.
function inExpression(expression, old, name) {
  const reference = plain.test(name) ? `.${name}` : `["${name}"]`;
  const parts = /\boutputs\s*\[\s*(?:"([^"]*)"|'([^']*)')\s*\]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\boutputs\s*\??\.\s*([A-Za-z_]\w*)/g;
  return expression.replace(parts, (whole, double, single, dotted) => {
    if (dotted !== undefined) return dotted === old ? `outputs${reference}` : whole;
    const quoted = double ?? single;
    return quoted === old ? `outputs${plain.test(old) ? reference : `["${name}"]`}` : whole;
  });
}

// freeName is a name that no task has; names differ by more than upper and lower case. taken holds them in lower case.
export function freeName(base, taken) {
  const stem = base.slice(0, 58) || "task";
  if (!taken.has(stem.toLowerCase())) return stem;
  for (let n = 2; ; n++) if (!taken.has(`${stem}-${n}`.toLowerCase())) return `${stem}-${n}`;
}
