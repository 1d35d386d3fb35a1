import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

/** A real server: an own data folder, a free port, ended by its own process. */
export class Server {
  url = "";
  token = "";
  #folder = "";
  #process: ChildProcess | undefined;

  async start(program: string): Promise<void> {
    this.#folder = await mkdtemp(path.join(os.tmpdir(), "tidewheel-client-"));
    await chmod(this.#folder, 0o755); // programs may run as nobody, and live below
    const data = path.join(this.#folder, "data");
    const process = spawn(program, ["server", "--data", data, "--http", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = process;
    const log: string[] = [];
    const late = setTimeout(() => process.kill("SIGKILL"), 60_000);
    await new Promise<void>((resolve, reject) => {
      process.on("error", reject);
      process.on("exit", () => reject(new Error(`the server has ended:\n${log.join("\n")}`)));
      for (const stream of [process.stdout, process.stderr]) {
        createInterface({ input: stream }).on("line", (line) => {
          log.push(line);
          this.url = /^\s+pages\s+(http:\S+)/.exec(line)?.[1] ?? this.url;
          if (line.includes("Ctrl-C shuts it down")) resolve();
        });
      }
    }).finally(() => clearTimeout(late));
    this.token = (await readFile(path.join(data, "token"), "utf8")).trim();
  }

  async remove(): Promise<void> {
    if (this.#process && this.#process.exitCode === null) {
      const ended = once(this.#process, "exit");
      this.#process.kill("SIGTERM");
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
