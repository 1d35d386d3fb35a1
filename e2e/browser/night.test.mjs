// An operator looks in the morning: what failed in the night, and why?
import assert from "node:assert/strict";
import { both } from "./support/hands.mjs";
import { site } from "./support/journey.mjs";

const report = `#!/bin/sh
i=0
while [ $i -lt 2000 ]; do i=$((i + 1)); echo "shop $i: added up"; done
echo "error: shop 2001 has no till" >&2
while [ $i -lt 4000 ]; do i=$((i + 1)); echo "shop $i: passed over"; done
exit 4
`;

const it = site({
  prepare: async (server) => {
    await server.push("report", report);
    await server.push("calm", "#!/bin/sh\necho calm\n");
    await server.apply("kind: Job\nname: nightly-report\nbinary: report@stable\n---\nkind: Job\nname: calm\nbinary: calm@stable\n");
    const runs = await Promise.all(["calm", "nightly-report", "calm"].map((job) => server.run(job)));
    await Promise.all(runs.map((run) => server.reaches(run)));
  },
});

both("last night's failure is found from the overview, with the line that says why", async (hand) => {
  const page = await it.open("/");
  const concern = page.getByRole("region", { name: "Needs attention" }).getByRole("listitem").filter({ hasText: "nightly-report" });
  await concern.getByText("exit").first().waitFor();
  assert.equal(await page.getByRole("region", { name: "Needs attention" }).getByRole("listitem").count(), 1, "what went well asks for nothing");
  await hand.press(concern.getByRole("link", { name: "See the run" }));
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "Run of nightly-report" }).waitFor();
  await page.getByText("Exit code 4").first().waitFor();

  const output = page.getByRole("region", { name: "Output", exact: true }).last();
  await output.getByText("shop 4000: passed over").waitFor();
  assert.equal(await output.getByText("shop 2001 has no till").count(), 0, "the end of the output is shown first");
  await hand.press(page.getByRole("link", { name: "First error" }));
  const cause = output.locator(".row.marked");
  await cause.filter({ hasText: "error: shop 2001 has no till" }).waitFor();
  assert.ok(await cause.evaluate((row) => {
    const box = row.closest(".output").getBoundingClientRect();
    const line = row.getBoundingClientRect();
    return line.top >= box.top && line.bottom <= box.bottom;
  }), "the line is in sight");
  assert.match(page.url(), /#L2001$/, "the address leads others to the line");

  const shared = await it.open(page.url());
  await shared.locator(".row.marked").filter({ hasText: "error: shop 2001 has no till" }).waitFor();
});
