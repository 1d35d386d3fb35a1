// Whom the server tells: a target is added and tested on the page, a failure reaches a real receiver, and a silence holds the next back.
import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { assertAccessible, site } from "./support/journey.mjs";

const breaker = "#!/bin/sh\necho 'error: the gauge does not answer' >&2\nexit 3\n";
const job = (name) => `kind: Job\nname: ${name}\nbinary: breaker\nalerts: {on: [failed], to: [ops]}\n`;

/** The receiver of the messages, on a port of its own: it keeps what it was sent. */
const received = [];
const receiver = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  received.push({ headers: request.headers, body: JSON.parse(Buffer.concat(parts).toString()) });
  response.end("thanks");
});
before(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
});
after(() => receiver.close());

const it = site({ prepare: (server) => server.push("breaker", breaker) });

/** Loads the page again until it shows the row. */
async function shows(page, row) {
  for (let i = 0; i < 120; i++) {
    await page.reload();
    if ((await row.count()) > 0) return;
    await row.waitFor({ timeout: 250 }).catch(() => {});
  }
  throw new Error(`the page does not show ${row}`);
}

test("a target is added, tested, told of a failure, and silenced", async () => {
  const page = await it.open("/notifications");
  await page.getByText("There are no targets.").waitFor();
  await page.getByRole("link", { name: "Add a target" }).click();
  await page.getByLabel("Name", { exact: true }).fill("ops");
  await page.getByLabel("URL").fill(`http://127.0.0.1:${receiver.address().port}/secret-path`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("is a loopback address").waitFor();
  await page.getByLabel("URL").fill(`http://127.0.0.1:${receiver.address().port}/secret-path`);
  await page.getByLabel("Allow private and loopback addresses").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Signing secret" }).waitFor();
  assert.match(await page.locator(".secret code").textContent(), /^whsec_/);
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("ops took the test: 200 OK").waitFor();
  assert.equal(received.length, 1);
  assert.equal(received[0].body.type, "test");
  assert.match(received[0].headers["webhook-signature"], /^v1,/);
  assert.ok(!(await page.content()).includes("secret-path"), "the page shows the whole URL");

  await it.server.apply(job("nightly-report"));
  await it.server.run("nightly-report");
  await page.goto("/notifications");
  const delivered = page.locator(".deliveries tr").filter({ hasText: "nightly-report" }).filter({ hasText: "delivered" });
  await shows(page, delivered);
  const message = received.find(({ body }) => body.type === "incident.opened");
  assert.equal(message?.body.data.job, "nightly-report");
  await page.getByRole("region", { name: "Open incidents" }).getByRole("link", { name: "nightly-report" }).waitFor();
  await assertAccessible(page);

  await it.server.apply(job("harbour-totals"));
  await page.goto("/jobs/harbour-totals");
  await page.getByRole("button", { name: "1 hour" }).click();
  await page.getByText("All alerts of harbour-totals", { exact: true }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/jobs/harbour-totals");
  const before = received.length;
  await it.server.run("harbour-totals");
  await page.goto("/notifications");
  const silenced = page.locator(".deliveries tr").filter({ hasText: "harbour-totals" });
  await shows(page, silenced);
  await silenced.getByText("silenced").first().waitFor();
  assert.equal(received.length, before, "it was sent in spite of the silence");
  await page.getByRole("button", { name: /^End/ }).click();
  await page.getByText("The silence has ended.").waitFor();

  await silenced.getByRole("button", { name: /Send again/ }).click();
  await page.getByText("It is sent again.").waitFor();
  await shows(page, silenced.filter({ hasText: "delivered" }));
  assert.equal(received.at(-1).body.data.job, "harbour-totals");
});

test("the form of a job asks for alerts", async () => {
  const page = await it.open("/jobs/nightly-report/edit");
  await page.locator("form[data-ready]").waitFor();
  await page.getByLabel("it is over again").check();
  await page.getByLabel("Nothing has succeeded for", { exact: true }).fill("26");
  await page.getByLabel("Unit of: Nothing has succeeded for").selectOption("h");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/failed, recovered, silent for 26h to ops/).waitFor();
});
