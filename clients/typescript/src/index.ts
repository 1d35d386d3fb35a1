/**
 * A client of Tidewheel's API. What it takes and answers has the types of the API's description (schema.ts, which is generated);
 * openapi-fetch sends it.
 */
import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, paths } from "./schema.js";

/** A schema of the API by its name: Schema<"Run">. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];
export type Run = Schema<"Run">;

export interface Options {
  /** Where the server is; by default $TIDEWHEEL_URL, or http://127.0.0.1:8080. */
  url?: string;
  /** By default $TIDEWHEEL_TOKEN. */
  token?: string;
  /** Instead of the runtime's own. */
  fetch?: typeof fetch;
}

/** The server refused (RFC 9457): code is stable, detail says what to do, errors name fields. */
export class Problem extends Error {
  readonly code: string;
  readonly detail: string;
  readonly errors: NonNullable<Schema<"Problem">["errors"]>;

  constructor(
    readonly status: number,
    readonly problem: Partial<Schema<"Problem">>,
  ) {
    super(`${problem.detail ?? problem.title ?? "refused"} (${status} ${problem.code ?? ""})`);
    this.name = "Problem";
    this.code = problem.code ?? "";
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
  }
}

/** A server-sent event. */
export interface Event {
  event: string;
  data: string;
  id: string;
}

/** The statuses of a run that has ended. One that is tried again is retrying meanwhile. */
const ended = new Set(["succeeded", "failed", "timed_out", "cancelled", "lost", "dead", "skipped"]);

export interface Tidewheel extends Client<paths> {
  /** Uploads a program. */
  upload(name: string, program: BodyInit, query?: { alias?: string[]; namespace?: string; sha256?: string; any_platform?: boolean }): Promise<Schema<"Upload">>;
  /** The run, once it has ended. */
  wait(id: string, options?: { every?: number; timeout?: number }): Promise<Run>;
  /** Hints of what has changed, as they come; until signal ends it. */
  events(options?: { namespace?: string; signal?: AbortSignal }): AsyncGenerator<Event, void>;
}

/** A client of one server. Whatever is no success is thrown, as a Problem where the server said one. */
export function connect(options: Options = {}): Tidewheel {
  const environment = typeof process === "undefined" ? {} : process.env;
  const token = options.token ?? environment["TIDEWHEEL_TOKEN"];
  const client = createClient<paths>({
    baseUrl: (options.url ?? environment["TIDEWHEEL_URL"] ?? "http://127.0.0.1:8080").replace(/\/$/, ""),
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    querySerializer: { array: { style: "form", explode: true } },
    ...(options.fetch ? { fetch: options.fetch } : {}),
  });
  client.use(refusals);
  return Object.assign(client, {
    async upload(name: string, program: BodyInit, query: object = {}) {
      const { data } = await client.POST("/api/v1/binaries/{name}/versions", {
        params: { path: { name }, query },
        headers: { "Content-Type": "application/octet-stream" },
        body: program as never, // bytes, which a schema calls a string
        bodySerializer: (body: unknown) => body as BodyInit,
      });
      return data!;
    },
    async wait(id: string, { every = 200, timeout = 3_600_000 } = {}) {
      for (const until = Date.now() + timeout; ; await new Promise((resolve) => setTimeout(resolve, every))) {
        const { data } = await client.GET("/api/v1/runs/{id}", { params: { path: { id } } });
        if (ended.has(data!.status)) return data!;
        if (Date.now() > until) throw new Error(`${id} is ${data!.status} after ${timeout} ms`);
      }
    },
    async *events({ namespace, signal }: { namespace?: string; signal?: AbortSignal } = {}) {
      const { data } = await client.GET("/api/v1/events", {
        params: { query: namespace ? { namespace } : {} },
        parseAs: "stream",
        ...(signal ? { signal } : {}),
      });
      yield* parseEvents(data as ReadableStream<Uint8Array>);
    },
  });
}

const refusals: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    const text = await response.text();
    let problem: Partial<Schema<"Problem">>;
    try {
      problem = JSON.parse(text);
    } catch {
      problem = { title: text.slice(0, 200) }; // of something between here and the server
    }
    throw new Problem(response.status, problem);
  },
};

/** All entries of a list, page by page: pages((cursor) => client.GET("/api/v1/runs", { params: { query: { cursor } } })). */
export async function* pages<Item>(
  read: (cursor: string | undefined) => Promise<{ data?: { items: Item[]; next: string } }>,
): AsyncGenerator<Item, void> {
  for (let cursor: string | undefined; cursor !== ""; ) {
    const { data } = await read(cursor);
    yield* data!.items;
    cursor = data!.next;
  }
}

async function* parseEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event, void> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = "";
  let id = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        let event = "message";
        const data: string[] = [];
        for (const line of block.split("\n")) {
          const [, field, text] = /^([^:]*):? ?(.*)$/.exec(line)!;
          if (field === "event") event = text!;
          if (field === "data") data.push(text!);
          if (field === "id") id = text!;
        }
        if (data.length > 0) yield { event, data: data.join("\n"), id };
      }
    }
  } finally {
    await reader.cancel();
  }
}
