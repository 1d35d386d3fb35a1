// Keeps the parts marked data-live fresh while the page is looked at, and says so when the server does not answer.
//
// The server tells by server-sent events when something has changed, once a second at most; then the parts are fetched
// anew, and change only where they differ. Where no events come (a proxy that holds them back, a session that ended)
// the parts are asked for every few seconds, as their hx-trigger says.
import htmx from "htmx.org";
import { keepDrafts } from "./drafts.js";
import { Events } from "./events.js";

const clock = new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium" });
const atMostEvery = 1000; // milliseconds between two refreshes by events
const anyway = 15_000; // with events a part is still refreshed after so long: ages and windows of time move on
const patience = 3000; // how long the events may be interrupted before it is said

let fresh = new Date();
const asked = new WeakMap(); // when each part was last asked for

export function connected() {
  fresh = new Date();
  const banner = document.getElementById("connection");
  if (banner) banner.hidden = true;
}

export function disconnected() {
  const banner = document.getElementById("connection");
  if (!banner || !banner.hidden) return;
  banner.querySelector("span").textContent =
    `The server does not answer. What you see is from ${clock.format(fresh)}; trying again.`;
  banner.hidden = false;
}

export function refresh() {
  for (const part of document.querySelectorAll("[data-live]")) htmx.trigger(part, "refresh");
}

const live = (event) => event.target instanceof Element && event.target.closest("[data-live]") !== null;

// Events are listened to only while the page is seen: a browser has few connections to a server.
const events = new Events({ open: opened, lost: interrupted, changed: soon });
const told = { open: false, lost: null }; // whether events have come before; the timer that says that they do not
const next = { asked: 0, timer: null };

function hear() {
  if (!document.hidden && document.querySelector("[data-live]")) events.listen();
}

function opened() {
  clearTimeout(told.lost);
  told.lost = null;
  // Another page may have taken over the stream: what changed in between was heard by none.
  if (told.open || !document.getElementById("connection")?.hidden) refresh();
  told.open = true;
}

function interrupted() {
  told.lost ??= setTimeout(() => {
    told.lost = null;
    if (!events.open && !document.hidden) refresh(); // its answer shows whether the server is there
  }, patience);
}

function deafen() {
  events.letGo();
  clearTimeout(told.lost);
  told.lost = null;
}

function soon() {
  if (next.timer) return;
  const wait = Math.max(next.asked + atMostEvery - Date.now(), 0);
  next.timer = setTimeout(() => {
    next.timer = null;
    next.asked = Date.now();
    refresh();
  }, wait);
}

// sessionEnded is called before the page is left for the way in.
export function sessionEnded() {
  keepDrafts();
  document.dispatchEvent(new Event("tidewheel:leave"));
}

export function startLive() {
  hear();
  addEventListener("pagehide", deafen);
  addEventListener("pageshow", hear);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) deafen();
    else {
      hear();
      refresh();
    }
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!live(event)) return;
    const byClock = event.detail.requestConfig?.triggeringEvent?.type !== "refresh";
    const part = event.target.closest("[data-live]");
    const heard = events.open && Date.now() - (asked.get(part) ?? 0) < anyway;
    if (document.hidden || (byClock && heard)) event.preventDefault();
    else asked.set(part, Date.now());
  });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (live(event) && event.detail.xhr.status < 500) connected();
  });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.status === 401) sessionEnded();
  });
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status === 401) location.reload(); // the server shows the way in
    else if (live(event) && status >= 500) disconnected();
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (live(event)) disconnected();
    });
  }
}
