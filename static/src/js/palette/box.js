// What the palette shows and does: a combobox over a list in groups, as the ARIA Authoring Practices describe it.
import { may, showShortcuts } from "../keys.js";
import { drafts } from "../draftstore.js";
import { span } from "../time.js";
import { allowed, rank, subject } from "./rank.js";
import { recent, visit } from "./recent.js";

const pause = 90; // milliseconds between the last key and the question to the server
const groups = ["Drafts", "Favourites", "Recent", "Jobs", "DAGs", "Actions", "Runs", "Binaries", "Executors", "Go to"];
const icons = { job: "jobs", dag: "dags", binary: "binaries", run: "runs", executor: "executors" };

let box; // made when it is first opened

export function openPalette() {
  box ??= new Palette();
  box.open();
}

const go = (href) => () => location.assign(href);

// post sends a form as the buttons of the pages do, with their question before it, and goes where the answer leads.
function post(action, fields = {}, question = "") {
  return () => {
    const form = Object.assign(document.createElement("form"), { method: "post", action, hidden: true });
    if (question) Object.assign(form.dataset, { confirm: question, confirmVerb: "Do it anyway" });
    for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    document.body.append(form);
    form.requestSubmit();
  };
}

const settings = [
  ["Profile", "/settings"], ["Secrets", "/settings/secrets"], ["Notifications", "/notifications"], ["Namespaces", "/namespaces"], ["Retention", "/settings/retention"],
];

// pageActions are those of every page; what is in its head and foot is read from there.
function pageActions() {
  const found = [
    { group: "Actions", icon: "plus", words: "New job", keys: "n", needs: "edit", act: go("/jobs/new") },
    { group: "Actions", icon: "upload", words: "Upload a program", needs: "edit", act: go("/binaries/upload") },
    { group: "Actions", icon: "keyboard", words: "Keyboard shortcuts", keys: "?", act: () => showShortcuts() },
  ];
  for (const link of document.querySelectorAll(".head nav a")) {
    const words = link.textContent.trim();
    const keys = { "/": "g o", "/jobs": "g j", "/dags": "g d", "/runs": "g r", "/binaries": "g b", "/executors": "g e" }[link.getAttribute("href")];
    found.push({ group: "Go to", icon: link.querySelector("use")?.getAttribute("href").replace("#icon-", "") ?? "right", words: `Go to ${words}`, keys, act: go(link.href) });
  }
  found.push({ group: "Go to", icon: "warn", words: "Go to Dead letters", act: go("/dead-letters") });
  for (const [words, href] of settings) found.push({ group: "Go to", icon: "right", words: `Go to ${words}`, act: go(href) });
  for (const link of document.querySelectorAll(".foot a")) found.push({ group: "Go to", icon: "right", words: `Go to ${link.textContent.trim()}`, act: go(link.href) });
  for (const button of document.querySelectorAll("[data-theme-choice] button")) {
    const words = button.textContent.trim();
    found.push({ group: "Actions", icon: button.querySelector("use")?.getAttribute("href").replace("#icon-", "") ?? "light", words: `Colours: ${words}`, act: () => button.click() });
  }
  const out = document.querySelector('form[action="/logout"] button');
  if (out) found.push({ group: "Actions", icon: "user", words: "Sign out", act: () => out.click() });
  return found;
}

const words = (item) => (item.kind === "run" ? `Run of ${item.name}` : item.kind === "executor" ? `Executor ${item.name}` : item.name);
const groupOf = { job: "Jobs", dag: "DAGs", run: "Runs", binary: "Binaries", executor: "Executors" };

// actions are what can be done to a thing: {needs, icon, words, act, detail}.
const actions = {
  job: (item) => definitionActions(item, "job"),
  dag: (item) => definitionActions(item, "DAG"),
  run: ({ name, href, can = [] }) => [
    ...(can.includes("cancel") ? [{ needs: "operate", icon: "stop", words: `Cancel the run of ${name}`, act: post(`${href}/cancel`, {}, `Cancel the run of ${name}?`) }] : []),
    ...(can.includes("retry") ? [{ needs: "operate", icon: "retry", words: `Retry the run of ${name}`, act: post(`${href}/retry`) }] : []),
    { icon: "runs", words: `Output of the run of ${name}`, act: go(`${href}#output`) },
  ],
  binary: ({ name, href }) => [
    { needs: "edit", icon: "plus", words: `New job of ${name}`, act: go(`/jobs/new?binary=${name}`) },
    { needs: "edit", icon: "upload", words: `Upload a version of ${name}`, act: go(`/binaries/upload?name=${name}`) },
    { needs: "edit", icon: "undo", words: `Rollback of ${name}`, detail: "asks first", act: go(`${href}/alias?alias=stable`) },
  ],
  executor: ({ name, can = [], ask }) => [
    ...(can.includes("drain") ? [{ needs: "root", icon: "pause", words: `Drain ${name}`, detail: "running runs finish", act: post(`/executors/${name}/drain`, {}, ask) }] : []),
    ...(can.includes("resume") ? [{ needs: "root", icon: "play", words: `Resume ${name}`, act: post(`/executors/${name}/resume`) }] : []),
  ],
};

function definitionActions({ kind, name, href, paused, favourite }, noun) {
  return [
    { needs: "operate", icon: "play", words: `Run ${name} now`, act: post(`${href}/run`, { key: `palette-${crypto.getRandomValues(new Uint32Array(2)).join("-")}` }) },
    paused
      ? { needs: "operate", icon: "play", words: `Resume ${name}`, act: post(`${href}/resume`) }
      : { needs: "operate", icon: "pause", words: `Pause ${name}`, act: post(`${href}/pause`), detail: kind === "dag" ? "a running wave continues" : "running runs continue" },
    { needs: "edit", icon: "edit", words: `Edit ${name}`, act: go(`${href}/edit`) },
    { needs: "edit", icon: "copy", words: `Copy ${name} to a new ${noun}`, act: go(`/${kind}s/new?from=${name}`) },
    { icon: "star", words: favourite ? `Star off: ${name}` : `Star ${name}`, detail: "your favourites", act: post(`${href}/favourite`, { favourite: favourite ? "off" : "on" }) },
  ];
}

function ofServer(item) {
  const age = item.at ? `, ${span(Math.max(Date.now() - new Date(item.at).getTime(), 0))} ago` : "";
  const group = item.favourite ? "Favourites" : groupOf[item.kind];
  const own = { group, kind: item.kind, icon: icons[item.kind], words: words(item), detail: `${item.detail ?? ""}${age}`, boost: item.favourite ? 60 : 40, href: item.href, act: go(item.href), kept: item };
  return [own, ...actions[item.kind](item).map((action) => ({ group: "Actions", boost: -30, about: item.name, ...action }))];
}

class Palette {
  constructor() {
    this.dialog = document.createElement("dialog");
    this.dialog.className = "palette";
    this.dialog.setAttribute("aria-label", "Search and commands");
    this.dialog.innerHTML = `
      <div class="palette-field">
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><use href="#icon-search"></use></svg>
        <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label="Search jobs, DAGs, runs, binaries and executors, or type a command"
          placeholder="Search, or type a command" maxlength="200" autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go">
        <button type="button" class="quiet small" data-closes><kbd>Esc</kbd><span class="visually-hidden">Close</span></button>
      </div>
      <div id="palette-list" role="listbox" aria-label="Results"></div>
      <p class="palette-foot" aria-hidden="true"><span><kbd>↑</kbd> <kbd>↓</kbd> choose</span><span><kbd>Enter</kbd> do it</span></p>
      <p class="visually-hidden" role="status"></p>`;
    document.body.append(this.dialog);
    this.input = this.dialog.querySelector("input");
    this.list = this.dialog.querySelector("#palette-list");
    this.status = this.dialog.querySelector('[role="status"]');
    this.found = []; // what the server has found for this.asked
    this.asked = undefined;
    this.answered = undefined; // the text that this.found answers
    this.shown = [];
    this.chosen = 0;
    this.input.addEventListener("input", () => {
      this.chosen = 0;
      this.show();
      this.ask();
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.do(this.shown[Number(option.dataset.at)]);
    });
    this.list.addEventListener("pointermove", (event) => {
      const option = event.target.closest("[role=option]");
      if (option && Number(option.dataset.at) !== this.chosen) this.choose(Number(option.dataset.at), false);
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // beside it
    });
  }

  open() {
    if (this.dialog.open) {
      this.dialog.close();
      return;
    }
    this.actions = allowed(pageActions(), may);
    this.input.value = "";
    this.chosen = 0;
    this.asked = undefined;
    this.found = [];
    this.show();
    this.dialog.showModal();
    this.input.focus();
    this.ask();
  }

  ask() {
    const text = subject(this.input.value);
    if (text === this.asked) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      this.asked = text;
      this.request?.abort();
      this.request = new AbortController();
      try {
        const answer = await fetch(`/ui/search?q=${encodeURIComponent(text)}`, { headers: { Accept: "application/json" }, signal: this.request.signal });
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
        this.found = allowed((await answer.json()).items.flatMap(ofServer), may);
        this.answered = text;
        this.trouble = "";
      } catch (error) {
        if (error.name === "AbortError") return;
        this.found = [];
        this.trouble = "The server does not answer: only what is on this page can be chosen.";
      }
      this.show();
    }, this.asked === undefined ? 0 : pause);
  }

  // matching returns what answers to the text, in groups, the best group first.
  matching() {
    const text = this.input.value.trim();
    if (text === "") {
      const unsaved = drafts().slice(0, 3).map(({ page, title, at }) => ({ group: "Drafts", icon: "edit", words: `${title}, not saved`, detail: `${span(Math.max(Date.now() - at, 0))} ago`, act: go(page) }));
      const starred = this.found.filter((item) => item.group === "Favourites");
      const seen = recent().filter((item) => !starred.some((other) => other.href === item.href)).map((item) => ({ group: "Recent", icon: icons[item.kind] ?? "right", words: item.name, detail: item.kind, href: item.href, act: go(item.href), kept: item }));
      return [...unsaved, ...starred, ...seen, ...this.found.filter((item) => item.group === "Jobs" && !seen.some((other) => other.href === item.href)).slice(0, 5), ...this.actions]
        .map((item) => ({ item, marks: [] }))
        .sort((a, b) => groups.indexOf(a.item.group) - groups.indexOf(b.item.group));
    }
    const all = [...this.found, ...this.actions];
    const ranked = rank(text, all);
    // What the server found for this text answers to it by itself: a run's id, say, that is not in the words.
    if (this.answered !== subject(text)) return inGroups(ranked.slice(0, 24));
    const rest = this.found.filter((item) => !item.about && !ranked.some((found) => found.item === item)).map((item) => ({ item, marks: [], score: 1 }));
    return inGroups([...ranked, ...rest].slice(0, 24));
  }

  show() {
    const before = this.shown[this.chosen];
    const found = this.matching();
    this.shown = found.map(({ item }) => item);
    const again = before && this.chosen > 0 ? this.shown.findIndex((item) => item.words === before.words) : 0;
    this.list.replaceChildren();
    let group;
    found.forEach(({ item, marks }, at) => {
      if (group?.dataset.name !== item.group) {
        group = document.createElement("div");
        group.setAttribute("role", "group");
        group.setAttribute("aria-label", item.group);
        group.dataset.name = item.group;
        const title = Object.assign(document.createElement("div"), { className: "palette-title", textContent: item.group });
        title.setAttribute("aria-hidden", "true");
        group.append(title);
        this.list.append(group);
      }
      group.append(option(item, marks, at));
    });
    const words = found.length === 0 ? "No results. Try part of a name, a run's id, or a verb such as pause." : this.trouble;
    if (words) this.list.append(Object.assign(document.createElement("p"), { className: "palette-empty", textContent: words }));
    this.status.textContent = found.length === 1 ? "1 result" : `${found.length} results`;
    this.choose(Math.max(again, 0), true);
  }

  choose(at, scroll) {
    this.chosen = Math.min(Math.max(at, 0), Math.max(this.shown.length - 1, 0));
    for (const element of this.list.querySelectorAll("[role=option]")) {
      const yes = Number(element.dataset.at) === this.chosen;
      element.setAttribute("aria-selected", String(yes));
      if (yes && scroll) (this.chosen === 0 ? element.parentElement : element).scrollIntoView({ block: "nearest" });
    }
    if (this.shown.length > 0) this.input.setAttribute("aria-activedescendant", `palette-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    if (event.isComposing) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 7, PageUp: -7 };
    if (steps[event.key]) {
      event.preventDefault();
      const last = this.shown.length - 1;
      const to = this.chosen + steps[event.key];
      if (Math.abs(steps[event.key]) === 1 && last >= 0) this.choose((to + last + 1) % (last + 1), true); // round
      else this.choose(to, true);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.shown[this.chosen]) this.do(this.shown[this.chosen]);
    }
  }

  do(item) {
    if (item.kept && !["run", "executor"].includes(item.kept.kind)) visit({ kind: item.kept.kind, name: item.kept.name, href: item.kept.href });
    this.dialog.close();
    item.act();
  }
}

// inGroups keeps together what is of a group, the group of the best first.
function inGroups(best) {
  const order = [...new Set(best.map((found) => found.item.group))];
  return best.sort((a, b) => order.indexOf(a.item.group) - order.indexOf(b.item.group));
}

function option(item, marks, at) {
  const element = document.createElement("div");
  element.setAttribute("role", "option");
  element.id = `palette-${at}`;
  element.dataset.at = at;
  element.innerHTML = '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><use></use></svg><span class="palette-words"></span><span class="palette-detail"></span>';
  element.querySelector("use").setAttribute("href", `#icon-${item.icon}`);
  const words = element.querySelector(".palette-words");
  [...item.words].forEach((letter, i) => {
    if (!marks.includes(i)) {
      words.append(letter);
      return;
    }
    words.append(Object.assign(document.createElement("b"), { textContent: letter }));
  });
  words.normalize();
  element.querySelector(".palette-detail").textContent = item.detail ?? "";
  for (const key of item.keys?.split(" ") ?? []) element.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  return element;
}
