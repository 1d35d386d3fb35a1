// How well a text answers what was typed: every letter must be in it, in order.

const begins = (text, at) => at === 0 || /[\s\-_/:.]/.test(text[at - 1]);

// score is 0 for no answer; more is better. marks are the places of the letters. What begins with the query is best, then a word that
// does, then the beginnings of words, then any part, then letters in their order.
export function score(query, text) {
  const wanted = query.toLowerCase().replace(/\s+/g, "");
  const within = text.toLowerCase();
  if (wanted === "") return { score: 1, marks: [] };
  const typed = query.toLowerCase().trim();
  const places = [];
  for (let at = within.indexOf(typed); at >= 0; at = within.indexOf(typed, at + 1)) places.push(at);
  if (places.length > 0) {
    const word = places.find((at) => begins(within, at));
    const at = word ?? places[0];
    const worth = at === 0 ? 200 : word === undefined ? 0 : 120;
    return { score: 1000 + worth - text.length / 10, marks: Array.from({ length: typed.length }, (_, i) => at + i) };
  }
  const marks = starts(wanted, within) ?? [];
  if (marks.length > 0) return { score: 1060 - text.length / 10, marks };
  let sum = 0;
  let from = 0;
  for (const letter of wanted) {
    const at = within.indexOf(letter, from);
    if (at < 0) return { score: 0, marks: [] };
    sum += marks.at(-1) === at - 1 ? 15 : begins(within, at) ? 12 : 2;
    sum -= Math.min(at - from, 10) / 2;
    marks.push(at);
    from = at + 1;
  }
  // A few letters strewn over a long text answer nothing.
  const spread = marks.at(-1) - marks[0] + 1;
  if (spread > wanted.length * 4 + 6) return { score: 0, marks: [] };
  return { score: Math.max(sum, 1), marks };
}

// starts finds the letters at the beginnings of words that follow each other: "nr" is nightly-report. One letter alone says too little.
function starts(wanted, within) {
  if (wanted.length < 2) return null;
  const words = [...within].map((_, at) => at).filter((at) => begins(within, at) && !/[\s\-_/:.]/.test(within[at]));
  for (let first = 0; first + wanted.length <= words.length; first++) {
    const marks = words.slice(first, first + wanted.length);
    if (marks.at(-1) - marks[0] <= wanted.length * 24 && marks.every((at, i) => within[at] === wanted[i])) return marks;
  }
  return null;
}

// rank sorts items by how well their words answer, the best first, and leaves out those that do not. boost is added; who
// begins with a verb means to do it: "run tides" means the action about tides, before the runs of tides.
export function rank(query, items) {
  const acts = subject(query) !== query.trim();
  const worth = (found) => found.score + (found.item.boost ?? 0) + (acts && found.item.about ? 200 : 0);
  return items
    .map((item, place) => ({ item, place, ...score(query, item.words) }))
    .filter((found) => found.score > 0)
    .sort((a, b) => worth(b) - worth(a) || a.place - b.place);
}

const verbs = ["run", "pause", "resume", "edit", "copy", "new", "open", "cancel", "retry", "logs", "output", "upload", "rollback", "drain", "star"];

// subject is what of a query is a name: "pause tides" asks for tides.
export function subject(query) {
  const [, verb, rest] = query.trim().match(/^(\S+)\s+(.*)$/) ?? [];
  return verb && verbs.includes(verb.toLowerCase()) ? rest.replace(/\s+now$/i, "") : query.trim();
}

// allowed leaves out what needs something that the reader may not do.
export const allowed = (items, may) => items.filter((item) => !item.needs || may(item.needs));
