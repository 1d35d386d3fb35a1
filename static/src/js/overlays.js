// Menus, dialogs, tooltips and toasts. Each works by native elements; the script adds what these lack.
//
// - <details class="menu"> closes by Escape, by a click beside it and when the focus leaves it.
// - A button with data-opens="ID" shows the <dialog id="ID"> as a modal; one with data-closes closes its own.
// - A form with data-confirm="question" asks before it is sent; data-confirm-verb is the word on the button.
// - A .tip is gone with Escape.
// - toast("words", "good", { name, act, key, until }) shows what was done, and may offer to act on it, with a key that keys.js
//   listens to. It goes by itself, but not while it is pointed at or holds the focus; what is offered until a moment goes then.

function closeMenu(menu, focus) {
  menu.open = false;
  if (focus) menu.querySelector("summary").focus();
}

function startMenus() {
  const others = (inside) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(inside)) closeMenu(menu, false);
    }
  };
  document.addEventListener("click", (event) => others(event.target));
  document.addEventListener("focusin", (event) => others(event.target));
  document.addEventListener("keydown", (event) => {
    const inside = event.target instanceof Element ? event.target : null;
    const menu = inside?.closest("details.menu[open]");
    if (event.key === "Escape") {
      if (menu) closeMenu(menu, true);
      for (const tip of document.querySelectorAll(".tip:is(:hover, :focus-within)")) tip.dataset.dismissed = "";
    } else if (menu && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const items = [...menu.querySelectorAll(".items :is(a, button):not(:disabled)")];
      const step = event.key === "ArrowDown" ? 1 : -1;
      const at = items.indexOf(inside);
      items.at(at < 0 && step < 0 ? -1 : (at + step) % items.length)?.focus();
      event.preventDefault();
    }
  });
  for (const name of ["pointerout", "focusout"]) {
    document.addEventListener(name, (event) => {
      const tip = event.target.closest?.(".tip[data-dismissed]");
      if (tip && !tip.contains(event.relatedTarget)) delete tip.dataset.dismissed;
    });
  }
}

function startDialogs() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-opens], [data-closes]");
    if (!button) return;
    if (button.dataset.opens) document.getElementById(button.dataset.opens)?.showModal();
    else button.closest("dialog")?.close();
  });
}

let asked = null; // the dialog of questions, made when the first is asked

function ask(question, verb, danger) {
  if (!asked) {
    asked = document.createElement("dialog");
    asked.setAttribute("aria-labelledby", "question");
    asked.innerHTML =
      '<p id="question"></p><div class="actions"><button type="button" value="" autofocus></button><button type="button" value="yes"></button></div>';
    asked.addEventListener("click", (event) => {
      if (event.target.nodeName === "BUTTON") asked.close(event.target.value);
    });
    document.body.append(asked);
  }
  const yes = asked.querySelector('[value="yes"]');
  asked.querySelector("p").textContent = question;
  yes.textContent = verb;
  // "Cancel" beside "Cancel the run" would say the opposite of what it does.
  asked.querySelector('[value=""]').textContent = verb.startsWith("Cancel") ? "Go back" : "Cancel";
  yes.className = danger ? "danger" : "primary";
  asked.returnValue = "";
  asked.showModal();
  return new Promise((resolve) => {
    asked.addEventListener("close", () => resolve(asked.returnValue === "yes"), { once: true });
  });
}

function startQuestions() {
  const answered = new WeakSet();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const question = form.dataset?.confirm;
    if (!question || answered.has(form)) {
      answered.delete(form);
      return;
    }
    event.preventDefault();
    const button = event.submitter;
    const verb = form.dataset.confirmVerb || button?.textContent.trim() || "Do it";
    ask(question, verb, button?.classList.contains("danger")).then((yes) => {
      if (!yes) return;
      answered.add(form);
      form.requestSubmit(button);
    });
  });
}

const toastLasts = 10_000; // milliseconds

export function toast(words, tone = "good", offer = undefined) {
  let list = document.querySelector(".toasts");
  if (!list) {
    list = document.createElement("div");
    list.className = "toasts";
    list.setAttribute("role", "status");
    document.body.append(list);
  }
  const item = document.createElement("div");
  item.className = `toast ${tone}`;
  const text = document.createElement("span");
  text.textContent = words;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet small";
  close.textContent = "Close";
  close.addEventListener("click", () => item.remove());
  item.append(text);
  if (offer) {
    const act = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: offer.name });
    act.addEventListener("click", () => {
      item.remove();
      offer.act();
    });
    if (offer.key) {
      act.dataset.key = offer.key;
      act.setAttribute("aria-keyshortcuts", offer.key);
      act.append(" ", Object.assign(document.createElement("kbd"), { textContent: offer.key }));
    }
    item.append(act);
  }
  item.append(close);
  const leave = () => {
    if (item.matches(":hover, :focus-within")) setTimeout(leave, 1000);
    else item.remove();
  };
  if (offer?.until) setTimeout(() => item.remove(), Math.max(offer.until - Date.now(), 0));
  else if (tone !== "bad") setTimeout(leave, toastLasts);
  list.append(item);
  while (list.children.length > 3) list.firstElementChild.remove();
}

export function startOverlays() {
  startMenus();
  startDialogs();
  startQuestions();
}
