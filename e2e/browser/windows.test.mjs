// Many windows at once: a browser has six connections to a server, and none of them may keep the next page waiting.
import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { site } from "./support/journey.mjs";
import { until } from "./support/server.mjs";

const runs = [];
const it = site({
  prepare: async (server) => {
    await server.push("talker", '#!/bin/sh\nwhile :; do echo "at $(date +%s%N)"; sleep 0.2; done\n');
    await server.apply("kind: Job\nname: talker\nbinary: talker@stable\noverlap: allow\n");
    for (let i = 0; i < 4; i++) runs.push(await server.reaches(await server.run("talker"), "running"));
  },
});

/** Opens another window of the same browser profile. */
const window = async (first, address) => {
  const page = await first.context().newPage();
  await page.goto(`${it.server.url}${address}`, { waitUntil: "load", timeout: 15_000 });
  return page;
};

const lines = (page) => page.locator(".rows > *").count();

test("nine windows that all show something live leave the tenth its connections, and are all fresh", async () => {
  const first = await it.open("/");
  const windows = [first];
  for (let i = 0; i < 2; i++) windows.push(await window(first, "/jobs"));
  const outputs = [];
  for (let i = 0; i < 6; i++) outputs.push(await window(first, `/runs/${runs[i % runs.length]}`));
  const tenth = await window(first, "/executors");
  await tenth.getByRole("heading", { level: 1, name: "Executors" }).waitFor();
  for (const page of outputs) {
    const before = await lines(page);
    await until(async () => (await lines(page)) > before, "further lines of an output");
  }
  await it.server.apply("kind: Job\nname: another\nbinary: talker@stable\n");
  for (const page of windows.slice(1)) await page.getByRole("link", { name: "another", exact: true }).waitFor();
  for (const page of [...windows.slice(1), ...outputs, tenth]) await page.close();
});

/** Counts the streams that a page reads at the moment. */
const streamsOf = (page) => {
  const open = new Set();
  const stream = (request) => /\/api\/v1\/events|follow=1/.test(request.url());
  page.on("request", (request) => stream(request) && open.add(request));
  page.on("requestfailed", (request) => open.delete(request));
  page.on("requestfinished", (request) => open.delete(request));
  return open;
};

test("a hidden window lets its streams go, and goes on when it is seen again", async () => {
  const page = await it.open("about:blank");
  const open = streamsOf(page);
  await page.goto(`${it.server.url}/runs/${runs[0]}`);
  await until(() => open.size === 2, "the stream of events and that of the output");
  const hide = (hidden) =>
    page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await hide(true);
  await until(() => open.size === 0, "both streams to be let go");
  const before = await lines(page);
  await hide(false);
  await until(() => open.size === 2, "both streams again");
  await until(async () => (await lines(page)) > before, "further lines");
  assert.equal(await page.getByText("connection lost").count(), 0);
});

/** Stands before the server and counts the streams of events that are open, and how many were at most. */
async function counting(to) {
  const count = { open: 0, most: 0 };
  const proxy = http.createServer((request, response) => {
    const stream = request.url.startsWith("/api/v1/events");
    if (stream) count.most = Math.max(count.most, ++count.open);
    const behind = http.request(`${to}${request.url}`, { method: request.method, headers: { ...request.headers, host: new URL(to).host } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => {
      if (stream) count.open--;
      behind.destroy();
    });
    behind.on("error", () => response.destroy());
    request.pipe(behind);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  count.url = `http://127.0.0.1:${proxy.address().port}`;
  count.close = () => {
    proxy.closeAllConnections();
    return new Promise((resolve) => proxy.close(resolve));
  };
  return count;
}

test("twenty tabs cost the server one stream of events, and another takes over when the first is closed", async (t) => {
  const front = await counting(it.server.url);
  t.after(() => front.close());
  const first = await it.open("about:blank");
  const tabs = [first];
  while (tabs.length < 20) tabs.push(await first.context().newPage());
  first.faults = [];
  for (const [i, tab] of tabs.entries()) await tab.goto(`${front.url}${["/", "/jobs", "/runs", `/runs/${runs[i % 4]}`][i % 4 === 3 ? 1 : i % 4]}`);
  await until(() => front.open === 1, "one stream of events");
  await tabs[19].waitForLoadState("load");
  assert.equal(front.most, 1, "there never were two");
  await it.server.apply("kind: Job\nname: told-to-all\nbinary: talker@stable\n");
  for (const tab of tabs.filter((one) => new URL(one.url()).pathname === "/jobs")) await tab.getByRole("link", { name: "told-to-all", exact: true }).waitFor();
  // The one that listens goes away: the others hear on.
  for (const tab of tabs.slice(1, 19)) await tab.close();
  await first.goto("about:blank");
  await until(() => front.open === 1, "another to listen");
  assert.ok(front.most <= 2, "no more than the one that goes and the one that comes");
  first.faults = [];
});
