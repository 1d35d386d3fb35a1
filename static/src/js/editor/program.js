// Which program a job runs: its name, one of its versions and aliases, or a file that is uploaded right here.
import { nameOf, size } from "../upload.js";

const address = (name, more = "", query = {}) => {
  const { namespace } = document.documentElement.dataset;
  const asked = new URLSearchParams({ ...query, ...(namespace && { namespace }) }).toString();
  return `/api/v1/binaries/${encodeURIComponent(name)}${more}${asked && `?${asked}`}`;
};

export class Program {
  // change(reference) is called when the reader has chosen another one.
  constructor(form, change) {
    this.change = change;
    this.name = form.querySelector("[data-jobform-binary]");
    this.version = form.querySelector("[data-jobform-version]");
    this.box = form.querySelector("[data-jobform-drop-file]");
    this.file = form.querySelector("[data-jobform-file]");
    this.progress = form.querySelector("[data-jobform-progress]");
    this.words = form.querySelector("[data-jobform-uploaded]");
    this.asked = undefined; // the name whose versions are listed
    this.name.addEventListener("input", () => {
      this.chosen();
      if ([...this.name.list.options].some(({ value }) => value === this.name.value)) this.list(this.name.value);
    });
    this.name.addEventListener("change", () => this.list(this.name.value));
    this.version.addEventListener("change", () => this.chosen());
    this.file.addEventListener("change", () => this.upload(this.file.files[0]));
    form.querySelector("[data-jobform-stop]").addEventListener("click", () => this.request?.abort());
    for (const name of ["dragenter", "dragover"]) this.box.addEventListener(name, (event) => this.over(event));
    for (const name of ["dragleave", "drop"]) this.box.addEventListener(name, () => this.box.classList.remove("over"));
    this.box.addEventListener("drop", (event) => this.drop(event));
  }

  chosen() {
    const name = this.name.value.trim();
    const whole = name.includes("@") || name.startsWith("sha256:"); // pasted, or typed by who knows how
    this.version.disabled = whole;
    this.change(name === "" ? undefined : whole || this.version.value === "" ? name : `${name}@${this.version.value}`);
  }

  show(reference) {
    const [name, version = ""] = reference.startsWith("sha256:") ? [reference] : reference.split("@");
    if (document.activeElement !== this.name) this.name.value = name;
    this.version.disabled = name.startsWith("sha256:");
    if (document.activeElement !== this.version) this.pick(version);
    if (document.activeElement !== this.name) this.list(name);
  }

  // pick chooses a version, and offers it even if the server does not know it: the check says what is wrong.
  pick(version) {
    if (version !== "" && ![...this.version.options].some((option) => option.value === version)) {
      this.version.append(new Option(version, version));
    }
    this.version.value = version;
  }

  async list(name) {
    if (this.asked === name) return;
    this.asked = name;
    const binary = /^[\w-]{1,128}$/.test(name) ? await fetch(address(name)).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null) : null;
    if (this.asked !== name) return;
    const chosen = this.version.value;
    const latest = binary?.versions.at(-1);
    this.version.replaceChildren(new Option(latest ? `latest: now version ${latest.n}` : "latest: the newest upload", ""));
    for (const [alias, n] of Object.entries(binary?.aliases ?? {})) this.version.append(new Option(`${alias}: now version ${n}`, alias));
    for (const { n, at, uploaded_by: by } of (binary?.versions ?? []).toReversed().slice(0, 50)) {
      this.version.append(new Option(`version ${n}, of ${at.slice(0, 10)}${by ? ` by ${by}` : ""}`, String(n)));
    }
    this.pick(chosen);
  }

  over(event) {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    this.box.classList.add("over");
  }

  drop(event) {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (event.dataTransfer.files.length === 1) this.upload(event.dataTransfer.files[0]);
    else this.words.textContent = "Drop one file: a program is a single file.";
  }

  // upload sends a file and chooses it. A new program gets the alias stable. Of one that is there the new version is
  // chosen by its number: moving its aliases would change what other jobs run.
  async upload(file) {
    if (!file) return;
    const name = nameOf(file.name);
    if (name === "") {
      this.words.textContent = `${file.name} does not make a valid name: rename the file and drop it again.`;
      return;
    }
    this.words.textContent = `Uploading ${file.name} as ${name}…`;
    this.progress.hidden = false;
    const isNew = await fetch(address(name)).then((answer) => answer.status === 404).catch(() => false);
    try {
      const { version, existed } = await this.send(file, address(name, "/versions", isNew ? { alias: "stable" } : {}));
      this.asked = undefined;
      this.name.value = name;
      await this.list(name);
      this.pick(isNew ? "stable" : String(version.n));
      this.chosen();
      this.words.textContent = existed
        ? `${name} version ${version.n} is identical, and is selected.`
        : `${name} version ${version.n}, ${size(version.size)}, is uploaded and selected.`;
    } catch (error) {
      this.words.textContent = error.message;
    }
    this.progress.hidden = true;
    this.file.value = "";
  }

  send(file, to) {
    const request = new XMLHttpRequest(); // fetch tells nothing of how far an upload is
    this.request = request;
    const bar = this.progress.querySelector("progress");
    bar.removeAttribute("value");
    request.upload.addEventListener("progress", (event) => {
      bar.max = event.total;
      bar.value = event.loaded;
    });
    return new Promise((resolve, reject) => {
      request.addEventListener("load", () => {
        const answer = read(request.responseText);
        if (request.status < 300 && answer.version) resolve(answer);
        else reject(new Error(answer.detail ?? `The server answered ${request.status}. Try again.`));
      });
      request.addEventListener("error", () => reject(new Error("The connection was lost before the file had arrived. Nothing was kept: try again.")));
      request.addEventListener("abort", () => reject(new Error("Cancelled. Nothing was kept.")));
      request.open("POST", to);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.send(file);
    });
  }
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // not ours: a proxy's page, say; the caller shows the status
  }
}
