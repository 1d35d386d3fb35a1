// Drafts of definitions that this browser keeps: what is typed outlives a tab that is killed, a session that ends and a save
// that is refused. Each belongs to a user, a namespace and a page, and goes when it is saved, discarded or two weeks old.
import { recall, remember } from "./keys.js";

const prefix = "tidewheel.draft ";
const lasts = 14 * 86_400_000; // milliseconds
const most = 20; // drafts; the oldest goes first

const whose = () => `${prefix}${document.documentElement.dataset.user ?? ""} ${document.documentElement.dataset.namespace ?? "default"} `;
const keyOf = (page) => whose() + page;

function keys() {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return []; // this browser keeps nothing
  }
}

function read(key) {
  try {
    const draft = JSON.parse(recall(key) ?? "null");
    return draft && Date.now() - draft.at < lasts ? draft : null;
  } catch {
    return null;
  }
}

/** The page that a form stands on, as drafts are named: its address without what it says once. */
export function pageOf({ pathname, search } = location) {
  const query = new URLSearchParams(search);
  query.delete("done");
  query.delete("n");
  return pathname + (query.size > 0 ? `?${query}` : "");
}

/** Returns the draft of a page, {title, text, message, revision, at}; null for none. */
export const draftOf = (page) => read(keyOf(page));

/** Keeps the draft of a page, and reports whether the browser did. */
export function keepDraft(page, draft) {
  const key = keyOf(page);
  const byAge = () => keys().filter((one) => one !== key).sort((a, b) => (read(a)?.at ?? 0) - (read(b)?.at ?? 0));
  for (const old of byAge().slice(0, Math.max(keys().length - most, 0))) remember(old, null);
  const text = JSON.stringify({ ...draft, at: Date.now() });
  for (const old of [...byAge(), null]) {
    remember(key, text);
    if (recall(key) === text) return true;
    if (old) remember(old, null); // it is full: the oldest makes room
  }
  return false;
}

export const dropDraft = (page) => remember(keyOf(page), null);

/** The drafts of this user in this namespace, [{page, title, at}], the newest first. */
export function drafts() {
  const own = keys().filter((key) => key.startsWith(whose()));
  return own
    .map((key) => ({ page: key.slice(whose().length), ...read(key) }))
    .filter((draft) => draft.at)
    .sort((a, b) => b.at - a.at);
}

/** Forgets all drafts of this user: another one may sit here next. */
export function dropDrafts() {
  const user = document.documentElement.dataset.user ?? "";
  for (const key of keys()) if (key.startsWith(`${prefix}${user} `)) remember(key, null);
}
