// A real `tidewheel server` for a test: an own data folder, a free port, ended by its own process.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createInterface } from "node:readline";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** The program that is tested: what `make build` makes, or what $TIDEWHEEL_PROGRAM names. */
const program = process.env.TIDEWHEEL_PROGRAM ?? path.join(root, "bin", "tidewheel");

/** How long a server may take to say that it is ready, on a busy machine; in milliseconds. */
const startLimit = 60_000;
/** How long it may take to end in good order, in milliseconds. */
const stopLimit = 30_000;

export class Server {
  /** @param {{args?: string[]}} options flags beyond those of its data and address */
  constructor({ args = [] } = {}) {
    this.args = args;
    this.log = [];
  }

  /** Starts the server and waits until it is ready. `url` is its address, `login` the link that a first start prints. */
  async start() {
    this.folder ??= await this.#makeFolder();
    const data = path.join(this.folder, "data");
    this.process = spawn(program, ["server", "--data", data, "--http", this.address ?? "127.0.0.1:0", ...this.args], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1" },
    });
    this.ended = once(this.process, "exit");
    const ready = Promise.withResolvers?.() ?? deferred();
    for (const stream of [this.process.stdout, this.process.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        this.log.push(line);
        const pages = /^\s+pages\s+(http:\S+)/.exec(line);
        if (pages) {
          this.url = pages[1].replace(/\/$/, "");
          this.address = new URL(this.url).host;
        }
        const login = /^\s+log in\s+(http:\S+)/.exec(line);
        if (login) this.login = login[1];
        if (/Ctrl-C shuts it down/.test(line)) ready.resolve();
      });
    }
    const limit = setTimeout(() => ready.reject(new Error("the server is not ready")), startLimit);
    this.ended.then(() => ready.reject(new Error("the server has ended")));
    try {
      await ready.promise;
    } catch (error) {
      throw new Error(`${error.message}:\n${this.log.join("\n")}`);
    } finally {
      clearTimeout(limit);
    }
    return this;
  }

  /** Ends the server in good order; it can be started again, on the same data and port. */
  async stop() {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const limit = setTimeout(() => this.process.kill("SIGKILL"), stopLimit);
    this.process.kill("SIGTERM");
    await this.ended;
    clearTimeout(limit);
  }

  /** Ends it and removes its data. */
  async remove() {
    await this.stop();
    if (this.folder) await rm(this.folder, { recursive: true, force: true });
  }

  async #makeFolder() {
    const folder = await mkdtemp(path.join(os.tmpdir(), "tidewheel-browser-"));
    await chmod(folder, 0o755); // programs may run as nobody, and live below
    return folder;
  }

  /** Asks the API with GET and gives its JSON. */
  async api(path) {
    const answer = await fetch(`${this.url}/api/v1/${path}`, { headers: this.token ? { Authorization: `Bearer ${this.token}` } : {} });
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Posts a request of the API. */
  async post(path, body) {
    const answer = await fetch(`${this.url}/api/v1/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(this.token && { Authorization: `Bearer ${this.token}` }) },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Uploads a script, or a new version of it, and points the alias "stable" at it. */
  async push(name, script) {
    const file = path.join(this.folder, `${name}.sh`);
    await writeFile(file, script);
    await this.cli("binary", "push", name, file, "--alias", "stable");
  }

  /** Applies definitions, written as YAML. */
  async apply(yaml) {
    const file = path.join(this.folder, "definitions.yaml");
    await writeFile(file, yaml);
    await this.cli("apply", "-f", file);
  }

  /** Starts a run of a job by hand and gives its id. */
  async run(job) {
    const answer = await fetch(`${this.url}/api/v1/jobs/${job}/run`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    if (!answer.ok) throw new Error(`run ${job}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).id;
  }

  /** Waits until a run has one of the statuses, or has ended if none is named; gives its id. */
  async reaches(run, ...statuses) {
    const wanted = statuses.length > 0 ? statuses : ["succeeded", "failed", "timed_out", "cancelled", "lost", "dead"];
    await until(async () => wanted.includes((await this.api(`runs/${run}`)).status), `run ${run} to be ${wanted.join(" or ")}`);
    return run;
  }

  /** Starts a wave of a DAG by hand, and gives its id once it has ended. */
  async wave(dag) {
    const { id } = JSON.parse(await this.cli("run", dag, "-o", "json"));
    await until(async () => ["succeeded", "failed"].includes((await this.api(`waves/${id}`)).status), `wave ${id} to end`);
    return id;
  }

  /** Runs the command line against this server and gives what it prints; it must succeed. */
  async cli(...args) {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, TIDEWHEEL_URL: this.url, TIDEWHEEL_TOKEN: this.token ?? "" },
    });
    const out = [];
    child.stdout.on("data", (data) => out.push(data));
    child.stderr.on("data", (data) => out.push(data));
    const [code] = await once(child, "close");
    const text = Buffer.concat(out).toString();
    if (code !== 0) throw new Error(`tidewheel ${args.join(" ")}: exit ${code}\n${text}`);
    return text;
  }
}

/** Waits until `read()` gives a truthy value, in milliseconds; for what no page shows. */
export async function until(read, what, limit = 30_000) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** Where things that are not tests' results are kept for people to look at. */
export const artifacts = path.join(root, ".cache", "browser");
export { root };
