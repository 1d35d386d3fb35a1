// The upload form: a file may be dropped on it, and its way is shown. Without this script it is a plain form.

const units = ["bytes", "KiB", "MiB", "GiB"];

function size(bytes) {
  let n = bytes;
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 ? n : n.toFixed(1)} ${units[unit]}`;
}

// nameOf makes a binary's name of a file's: "Report 2.sh" → "report-2".
function nameOf(file) {
  return file
    .replace(/\.[A-Za-z0-9]{1,5}$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, 63);
}

class Upload {
  constructor(form) {
    this.form = form;
    this.input = form.querySelector('input[type="file"]');
    this.drop = form.querySelector(".drop");
    this.chosen = form.querySelector("[data-chosen]");
    this.problem = form.querySelector("[data-problem]");
    this.progress = form.querySelector("[data-progress]");
    this.input.addEventListener("change", () => this.choose());
    for (const name of ["dragenter", "dragover"]) this.drop.addEventListener(name, (event) => this.over(event));
    for (const name of ["dragleave", "drop"]) this.drop.addEventListener(name, () => this.drop.classList.remove("over"));
    this.drop.addEventListener("drop", (event) => this.take(event));
    form.addEventListener("submit", (event) => this.send(event));
  }

  over(event) {
    event.preventDefault();
    this.drop.classList.add("over");
  }

  take(event) {
    event.preventDefault();
    if (event.dataTransfer.files.length !== 1) {
      this.fail("Drop one file: a program is a single file.");
      return;
    }
    this.input.files = event.dataTransfer.files;
    this.choose();
  }

  choose() {
    const file = this.input.files[0];
    this.problem.hidden = true;
    this.chosen.textContent = file ? `${file.name}, ${size(file.size)}` : "";
    const name = this.form.elements.namedItem("name");
    if (file && name && name.value === "") name.value = nameOf(file.name);
  }

  fail(words) {
    this.problem.textContent = words;
    this.problem.hidden = false;
    this.progress.hidden = true;
    for (const button of this.form.querySelectorAll("button")) button.disabled = false;
  }

  send(event) {
    event.preventDefault();
    const request = new XMLHttpRequest(); // fetch tells nothing of how far an upload is
    request.open("POST", this.form.action);
    request.setRequestHeader("Accept", "application/json");
    const bar = this.progress.querySelector("progress");
    const words = this.progress.querySelector("span");
    request.upload.addEventListener("progress", (e) => {
      if (!e.lengthComputable) return;
      bar.max = e.total;
      bar.value = e.loaded;
      words.textContent = e.loaded < e.total ? `${size(e.loaded)} of ${size(e.total)}` : "All sent; the server is checking it.";
    });
    request.addEventListener("load", () => {
      if (new URL(request.responseURL).pathname === "/login") {
        this.fail("Your session has ended. Sign in in another window, and send it again.");
        return;
      }
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // Not ours: a proxy's page, say. The status is told below.
      }
      if (request.status < 300 && answer.location) location.assign(answer.location);
      else this.fail(answer.detail ?? `The server answered ${request.status}. Try again.`);
    });
    request.addEventListener("error", () => this.fail("The connection was lost before the file had arrived. Nothing was kept: try again."));
    this.problem.hidden = true;
    this.progress.hidden = false;
    words.textContent = "Beginning…";
    const data = new FormData(this.form); // before the buttons are disabled
    for (const button of this.form.querySelectorAll("button")) button.disabled = true;
    request.send(data);
  }
}

export function startUpload() {
  for (const form of document.querySelectorAll("form[data-upload]")) new Upload(form);
}
