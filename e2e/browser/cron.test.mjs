// A wrong cron expression is told in the form as one types, corrected there, and read back in words before it is saved.
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site, tabTo } from "./support/journey.mjs";

const it = site({ prepare: (server) => server.push("gauge", "#!/bin/sh\necho 4 feet\n") });

let made = 0;

both("a wrong expression is refused, put right in the form, and saved", async (hand) => {
  const name = `gauge-${++made}`;
  const page = await it.open("/jobs/new");
  const expression = page.getByLabel("Expression", { exact: true });
  await hand.type(page.getByLabel("Name", { exact: true }), name);
  await hand.type(expression, "0 25 * * *");
  const field = page.locator('[data-field="schedule"]');
  await field.locator(".problem").filter({ hasText: "25" }).waitFor();
  assert.equal(await expression.getAttribute("aria-invalid"), "true");
  await page.getByRole("heading", { name: "1 problem" }).waitFor();

  await hand.press(page.getByRole("button", { name: "Save", exact: true }));
  await page.waitForLoadState();
  assert.equal(page.url(), `${it.server.url}/jobs/new`, "it is not saved");
  await field.locator(".problem").filter({ hasText: "25" }).waitFor();
  assert.equal(await expression.inputValue(), "0 25 * * *", "what was typed is kept");

  await hand.type(expression, "30 3 * * MON-FRI");
  const check = page.getByRole("region", { name: "Check" });
  await check.getByText(/03:30/).first().waitFor();
  await check.getByRole("row").nth(10).waitFor();
  assert.equal(await check.getByRole("row").count(), 11, "a head and the next ten slots");
  assert.equal(await field.locator(".problem:visible").count(), 0);
  await hand.press(page.getByRole("button", { name: "Save", exact: true }));
  await page.getByRole("heading", { level: 1, name }).waitFor();
  assert.deepEqual((await it.server.api(`jobs/${name}`)).spec.schedule, "30 3 * * MON-FRI");
});

both("a problem in the YAML leads to its line, and the form follows what is pasted there", async (hand) => {
  const name = `gauge-${++made}`;
  const page = await it.open("/jobs/new", { permissions: ["clipboard-read", "clipboard-write"] });
  const editor = page.getByRole("textbox", { name: "Definition, YAML" });
  await page.locator(".cm-editor").waitFor();
  await page.evaluate((text) => navigator.clipboard.writeText(text), `kind: Job\nname: ${name}\nbinary: gauge@stable\nschedule: "0 3 * *"\n# by hand\ntimeout: 2m\n`);
  if (hand.name.includes("mouse")) await editor.click();
  else await tabTo(page, editor);
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+v");
  const line = page.getByRole("region", { name: "Check" }).getByRole("button", { name: "Line 4" });
  await line.waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
  await hand.press(line);
  assert.ok(await editor.evaluate((element) => element.getRootNode().activeElement === element), "the editor has the focus");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(" *");
  await page.getByRole("region", { name: "Check" }).getByText(/03:00/).first().waitFor();
  assert.equal(await page.getByLabel("Expression", { exact: true }).inputValue(), "0 3 * * *");
  await page.keyboard.press("Control+s");
  await page.getByRole("heading", { level: 1, name }).waitFor();
  assert.equal((await it.server.api(`jobs/${name}`)).spec.schedule, "0 3 * * *");
});
