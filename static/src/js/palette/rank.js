// How well a text answers what was typed: every letter must be in it, in order; letters side by side, at the beginning
// and at the beginnings of words count more.

// score is 0 for no answer; more is better. marks are the places of the letters.
export function score(query, text) {
  const wanted = query.toLowerCase().replace(/\s+/g, "");
  const within = text.toLowerCase();
  if (wanted === "") return { score: 1, marks: [] };
  const whole = within.indexOf(query.toLowerCase().trim());
  if (whole >= 0) {
    const begins = whole === 0 ? 200 : /[\s\-_/:.]/.test(within[whole - 1]) ? 120 : 60;
    return { score: 1000 + begins - text.length / 10, marks: Array.from({ length: query.trim().length }, (_, i) => whole + i) };
  }
  const marks = [];
  let sum = 0;
  let from = 0;
  for (const letter of wanted) {
    const at = within.indexOf(letter, from);
    if (at < 0) return { score: 0, marks: [] };
    const begins = at === 0 || /[\s\-_/:.]/.test(within[at - 1]);
    sum += marks.at(-1) === at - 1 ? 15 : begins ? 12 : 2;
    sum -= Math.min(at - from, 10) / 2;
    marks.push(at);
    from = at + 1;
  }
  // A few letters strewn over a long text answer nothing.
  const spread = marks.at(-1) - marks[0] + 1;
  if (spread > wanted.length * 4 + 6) return { score: 0, marks: [] };
  return { score: Math.max(sum, 1), marks };
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

const verbs = ["run", "pause", "resume", "edit", "copy", "new"];

// subject is what of a query is a name: "pause tides" asks for tides.
export function subject(query) {
  const [, verb, rest] = query.trim().match(/^(\S+)\s+(.*)$/) ?? [];
  return verb && verbs.includes(verb.toLowerCase()) ? rest.replace(/\s+now$/i, "") : query.trim();
}

// allowed leaves out what needs something that the reader may not do.
export const allowed = (items, may) => items.filter((item) => !item.needs || may(item.needs));
