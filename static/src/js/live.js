// Keeps the parts marked data-live fresh while the page is looked at, and says so when the server does not answer.
import htmx from "htmx.org";

const clock = new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium" });
let fresh = new Date();

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

export function startLive() {
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (live(event) && document.hidden) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (live(event) && event.detail.xhr.status < 500) connected();
  });
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status === 401) location.reload(); // the session has ended: the server shows the way in
    else if (live(event) && status >= 500) disconnected();
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (live(event)) disconnected();
    });
  }
}
