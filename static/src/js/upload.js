// The upload form: files may be dropped on the page, each is named, sent in turn and can be cancelled, and its way is
// shown. Without this script it is a plain form for one file.
import { kindOf } from "./kind.js";

const units = ["bytes", "KiB", "MiB", "GiB"];

export function size(bytes) {
  let n = bytes;
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 ? n : n.toFixed(1)} ${units[unit]}`;
}

function left(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return `, ${Math.max(1, Math.round(seconds))} s left`;
  return `, ${Math.round(seconds / 60)} min left`;
}

// nameOf makes a binary's name of a file's: "Report 2.sh" → "report-2".
export function nameOf(file) {
  return file
    .replace(/\.[A-Za-z0-9]{1,5}$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, 128);
}

// Speed is how fast bytes went in the last seconds, so that a slow beginning is soon forgotten.
class Speed {
  constructor() {
    this.points = [[performance.now(), 0]];
  }

  at(loaded) {
    const now = performance.now();
    this.points.push([now, loaded]);
    while (this.points.length > 2 && now - this.points[0][0] > 3000) this.points.shift();
    const [from, before] = this.points[0];
    return now > from ? ((loaded - before) * 1000) / (now - from) : 0; // bytes a second
  }
}

// One file on its way. state: waiting, sending, done or failed.
class Row {
  constructor(form, template, file, name) {
    this.form = form;
    this.file = file;
    this.state = "waiting";
    this.element = template.content.firstElementChild.cloneNode(true);
    this.name = this.element.querySelector("[data-name]");
    this.name.value = name;
    this.bar = this.element.querySelector("progress");
    this.words = this.element.querySelector("[data-words]");
    this.button = this.element.querySelector("[data-cancel]");
    this.element.querySelector("[data-file]").textContent = `${file.name}, ${size(file.size)}`;
    this.judged = this.judge();
  }

  async judge() {
    const kind = await kindOf(this.file);
    const here = this.form.dataset.platform;
    this.element.querySelector("[data-kind]").textContent = kind.words;
    if (kind.problem) this.fail(kind.problem);
    else if (kind.platform && !here.startsWith(kind.platform)) {
      this.say(`Built for ${kind.platform}; this server runs on ${here}. Tick the box above to keep it for executors elsewhere.`, "warn");
    }
  }

  say(words, tone = "") {
    this.words.textContent = words;
    this.words.hidden = words === "";
    this.words.className = tone === "" ? "small soft" : `small note ${tone}`;
  }

  fail(words) {
    this.state = "failed";
    this.bar.hidden = true;
    this.button.textContent = "Remove";
    this.say(words, "bad");
  }

  cancel() {
    this.request?.abort();
  }

  // send resolves when the file has arrived or has not; it never rejects.
  send() {
    this.state = "sending";
    this.button.textContent = "Cancel";
    this.bar.hidden = false;
    this.bar.removeAttribute("value");
    this.say("Beginning…");
    const request = new XMLHttpRequest(); // fetch tells nothing of how far an upload is
    this.request = request;
    request.open("POST", this.form.action);
    request.setRequestHeader("Accept", "application/json");
    const speed = new Speed();
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      this.bar.max = event.total;
      this.bar.value = event.loaded;
      const rate = speed.at(event.loaded);
      this.say(
        event.loaded < event.total
          ? `${size(event.loaded)} of ${size(event.total)}, ${size(rate)}/s${left((event.total - event.loaded) / rate)}`
          : "All sent; the server is checking it.",
      );
    });
    const data = new FormData();
    data.set("name", this.name.value.trim());
    data.set("alias", this.form.elements.namedItem("alias").value);
    if (this.form.elements.namedItem("any_platform").checked) data.set("any_platform", "yes");
    data.set("file", this.file);
    return new Promise((resolve) => {
      request.addEventListener("loadend", () => resolve());
      request.addEventListener("load", () => this.answered(request));
      request.addEventListener("abort", () => this.fail("Cancelled. Nothing was kept."));
      request.addEventListener("error", () => this.fail("The connection was lost before the file had arrived. Nothing was kept: try again."));
      request.send(data);
    });
  }

  answered(request) {
    if (new URL(request.responseURL).pathname === "/login") {
      this.fail("Your session has ended. Sign in in another window and upload it again.");
      return;
    }
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      // Not ours: a proxy's page, say. The status is shown below.
    }
    if (request.status >= 300 || !answer.location) {
      this.fail(answer.detail ?? `The server answered ${request.status}. Try again.`);
      return;
    }
    this.state = "done";
    this.location = answer.location;
    this.bar.hidden = true;
    this.button.hidden = true;
    this.name.readOnly = true;
    const link = (href, words) => {
      const made = document.createElement("a");
      made.href = href;
      made.textContent = words;
      return made;
    };
    this.say("");
    this.words.append("Uploaded. ", link(answer.job, "Create a job"), " or ", link(answer.location, "see its versions"));
    this.words.className = "small note good";
    this.words.hidden = false;
  }
}

class Upload {
  constructor(form) {
    this.form = form;
    this.rows = [];
    this.input = form.querySelector('input[type="file"]');
    this.drop = form.querySelector(".drop");
    this.list = form.querySelector("[data-uploads]");
    this.template = form.querySelector("template[data-upload-row]");
    this.button = form.querySelector("[data-send]");
    this.problem = form.querySelector("[data-problem]");
    this.wanted = form.elements.namedItem("name").value; // the program whose page led here
    for (const part of form.querySelectorAll("[data-single]")) part.remove(); // each file gets a name of its own
    this.input.multiple = true;
    this.input.required = false;
    this.input.addEventListener("change", () => {
      this.add(this.input.files);
      this.input.value = "";
    });
    for (const name of ["dragenter", "dragover"]) document.addEventListener(name, (event) => this.over(event));
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) this.drop.classList.remove("over");
    });
    document.addEventListener("drop", (event) => this.take(event));
    form.addEventListener("submit", (event) => this.send(event));
  }

  over(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.drop.classList.add("over");
  }

  take(event) {
    this.drop.classList.remove("over");
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.add(event.dataTransfer.files);
  }

  add(files) {
    this.problem.hidden = true;
    for (const file of files) {
      const row = new Row(this.form, this.template, file, this.rows.length === 0 && this.wanted ? this.wanted : nameOf(file.name));
      row.button.addEventListener("click", () => (row.state === "sending" ? row.cancel() : this.remove(row)));
      this.rows.push(row);
      this.list.append(row.element);
    }
    this.show();
  }

  remove(row) {
    const next = row.element.nextElementSibling?.querySelector("button") ?? this.button;
    row.element.remove();
    this.rows = this.rows.filter((other) => other !== row);
    this.show();
    next.focus();
  }

  show() {
    this.list.hidden = this.rows.length === 0;
    const waiting = this.rows.filter((row) => row.state === "waiting" || row.state === "failed").length;
    this.button.textContent = waiting > 1 ? `Upload ${waiting} files` : "Upload";
  }

  async send(event) {
    event.preventDefault();
    const due = () => this.rows.filter((row) => row.state === "waiting" || row.state === "failed");
    if (due().length === 0) {
      this.problem.textContent = "Choose a file first.";
      this.problem.hidden = false;
      this.input.focus();
      return;
    }
    this.button.disabled = true;
    for (const row of due()) {
      await row.judged;
      if (row.file.size > 0 && this.rows.includes(row)) await row.send();
    }
    this.button.disabled = false;
    this.show();
    if (this.rows.length === 1 && this.rows[0].state === "done") location.assign(this.rows[0].location);
  }
}

export function startUpload() {
  for (const form of document.querySelectorAll("form[data-upload]")) new Upload(form);
}
