import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { after, before, test } from "node:test";
import { connect, pages, Problem, type Tidewheel } from "tidewheel";
import { Server } from "./server.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url)); // from dist/test
const server = new Server();
let client: Tidewheel;

before(async () => {
  await server.start(process.env["TIDEWHEEL_PROGRAM"] ?? `${root}bin/tidewheel`);
  client = connect(server);
});
after(() => server.remove());

test("the example of the documents runs", async () => {
  const example = await readFile(`${root}clients/typescript/examples/run.ts`, "utf8");
  const page = await readFile(`${root}docs/clients.md`, "utf8");
  assert.ok(page.includes("```ts\n" + example + "```"), "docs/clients.md shows another example than examples/run.ts");
  const run = promisify(execFile)(process.execPath, [fileURLToPath(new URL("../examples/run.js", import.meta.url))], {
    env: { ...process.env, TIDEWHEEL_URL: server.url, TIDEWHEEL_TOKEN: server.token },
  });
  assert.equal((await run).stdout, "succeeded Hello from TypeScript\n\n");
});

test("programs, jobs, runs, output and artifacts", async () => {
  const program = new Blob(["#!/bin/sh\ncat\necho 'rows=7' >\"$TIDEWHEEL_OUTPUT\"\necho data >\"$TIDEWHEEL_ARTIFACTS/a b.txt\"\n"]);
  const uploaded = await client.upload("report", program, { alias: ["stable", "next"] });
  assert.deepEqual(uploaded.aliases, { stable: 1, next: 1 });
  const { data: job, response } = await client.POST("/api/v1/jobs", { body: { name: "report", binary: "report@stable", schedule: "0 3 * * *", timezone: "Asia/Dhaka" } });
  assert.equal(job!.spec.binary, "report@stable");
  assert.match(job!.schedule, /03:00/);
  const etag = response.headers.get("ETag")!;
  const changed = await client.PUT("/api/v1/jobs/{name}", {
    params: { path: { name: "report" }, header: { "If-Match": etag } },
    body: { name: "report", binary: "report@next" },
  });
  assert.equal(changed.data!.generation, 2);
  await assert.rejects(
    client.PUT("/api/v1/jobs/{name}", { params: { path: { name: "report" }, header: { "If-Match": etag } }, body: { name: "report", binary: "report" } }),
    (refused) => refused instanceof Problem && refused.status === 412,
  );
  const ask = () =>
    client.POST("/api/v1/jobs/{name}/run", {
      params: { path: { name: "report" }, header: { "Idempotency-Key": "order-4711" } },
      body: { payload: { shops: [1, 2] } },
    });
  const first = (await ask()).data!;
  assert.equal((await ask()).data!.id, first.id);
  const run = await client.wait(first.id);
  assert.equal(run.status, "succeeded");
  assert.deepEqual(run.outputs, { rows: 7 });
  const path = { id: run.id };
  const { data: output } = await client.GET("/api/v1/runs/{id}/logs", { params: { path }, parseAs: "text" });
  assert.equal(output, '{"shops":[1,2]}');
  const { data: artifact } = await client.GET("/api/v1/runs/{id}/artifacts/{name}", { params: { path: { ...path, name: "a b.txt" } }, parseAs: "text" });
  assert.equal(artifact, "data\n");
});

test("lists are read page by page", async () => {
  for (const name of ["one", "two", "three"]) {
    await client.POST("/api/v1/jobs", { body: { name: `listed-${name}`, binary: "report" } });
  }
  const names: string[] = [];
  const list = pages((cursor) => client.GET("/api/v1/jobs", { params: { query: { q: "listed", limit: 1, ...(cursor ? { cursor } : {}) } } }));
  for await (const job of list) names.push(job.name);
  assert.deepEqual(names.sort(), ["listed-one", "listed-three", "listed-two"]);
});

test("what the server refuses is thrown, with its code and fields", async () => {
  await assert.rejects(client.GET("/api/v1/jobs/{name}", { params: { path: { name: "nowhere" } } }), (refused) => {
    assert.ok(refused instanceof Problem);
    assert.deepEqual([refused.status, refused.code], [404, "job_not_found"]);
    return refused.detail.includes("nowhere");
  });
  await assert.rejects(client.POST("/api/v1/jobs", { body: { name: "wrong", binary: "report", schedule: "61 * * * *" } }), (refused) => {
    assert.ok(refused instanceof Problem);
    return refused.errors.some((field) => field.location.includes("schedule"));
  });
  await assert.rejects(connect({ url: server.url, token: "tw_wrong" }).GET("/api/v1/jobs"), (refused) => refused instanceof Problem && refused.status === 401);
  await assert.rejects(connect({ url: "http://127.0.0.1:1", token: "x" }).GET("/api/v1/jobs"), TypeError);
});

test("events come while they happen", async () => {
  const ending = new AbortController();
  const events = client.events({ signal: ending.signal });
  const heard = (async () => {
    for await (const event of events) {
      const hint = JSON.parse(event.data) as { kind: string; job?: string };
      if (hint.kind === "run" && hint.job === "report") return event.event;
    }
    return "no event";
  })();
  const { data: run } = await client.POST("/api/v1/jobs/{name}/run", { params: { path: { name: "report" } }, body: {} });
  await client.wait(run!.id);
  assert.equal(await heard, "changed");
  ending.abort();
});
