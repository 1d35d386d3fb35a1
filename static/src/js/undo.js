// A deletion can be taken back for ten seconds: the server waits so long, whether the page is open or not. The offer goes along
// to the next page of this tab.
import { refresh } from "./live.js";
import { toast } from "./overlays.js";

const key = "tidewheel-undo";
const settle = 700; // milliseconds after the deletion is due until it is asked how it went

const list = () => JSON.parse(sessionStorage.getItem(key) ?? "[]").filter(({ until }) => until + 60_000 > Date.now());
const keep = (offers) => sessionStorage.setItem(key, JSON.stringify(offers));
const forget = (id) => keep(list().filter((offer) => offer.id !== id));

const address = (id) => `/undo/${encodeURIComponent(id)}`;
const json = { Accept: "application/json" };

async function undo({ id, words }) {
  forget(id);
  const answer = await fetch(address(id), { method: "POST", headers: json }).catch(() => null);
  if (answer?.ok) toast("Undone. Nothing was deleted.");
  else toast(answer?.status === 409 ? `Too late to undo. ${words}` : "The server does not answer: what was asked for is deleted.", "bad");
  refresh();
}

// ended shows what is there now, and says what could not be deleted.
async function ended({ id }) {
  if (!list().some((offer) => offer.id === id)) return;
  forget(id);
  const answer = await fetch(address(id), { headers: json }).catch(() => null);
  const { refused } = (answer?.ok && (await answer.json())) || {};
  if (refused) toast(`Not deleted: ${refused}`, "bad");
  refresh();
}

function offer(one) {
  if (one.until > Date.now()) toast(one.words, "good", { name: "Undo", key: "u", until: one.until, act: () => undo(one) });
  setTimeout(() => ended(one), Math.max(one.until - Date.now(), 0) + settle);
}

/** Turns the offer that the server has put into the page into a toast, and shows those of the pages before. */
export function undoBefore() {
  const note = document.querySelector("[data-undo]");
  if (note) {
    const one = { id: note.dataset.undo, words: note.querySelector("span").textContent, until: Date.now() + Number(note.dataset.undoLeft) };
    keep([...list().filter(({ id }) => id !== one.id), one]);
    note.remove();
    const here = new URL(location.href);
    here.searchParams.delete("undo"); // web/ui/removal.go
    history.replaceState(history.state, "", here);
  }
  for (const one of list()) offer(one);
}
