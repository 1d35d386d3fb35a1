// Puts onto a server what pages are to show: programs, jobs, runs that went well and runs that did not.
const ticker = `#!/bin/sh
echo "tick for $TIDEWHEEL_SLOT"
echo "::progress 0.5 half of it"
printf '\\033[32mgreen\\033[0m and \\033[1;31mred\\033[0m\\n'
`;
const breaker = `#!/bin/sh
i=0
while [ $i -lt 40 ]; do i=$((i + 1)); echo "line $i: reading the gauge"; done
echo "error: the gauge at pier $i does not answer" >&2
exit 3
`;
const sleeper = `#!/bin/sh
echo "waiting for the tide"
exec sleep 600
`;

const jobs = `
kind: Job
name: ticker
description: Says the time, every few seconds.
binary: ticker@stable
schedule: "*/2 * * * * *"
timezone: Europe/Berlin
env: {LEVEL: info, API_TOKEN: never-shown}
labels: {team: harbour}
---
kind: Job
name: breaker
description: Reads a gauge that does not answer.
binary: breaker@stable
retry: {max_attempts: 1}
---
kind: Job
name: sleeper
description: Waits for the tide, for long.
binary: sleeper
---
kind: Job
name: nightly-report
description: Totals per shop.
binary: ticker@stable
schedule: "30 2 * * *"
timezone: Europe/Berlin
---
kind: Job
name: a-job-with-a-very-long-name-that-a-narrow-window-has-to-break
binary: ticker@stable
schedule: "0 3 * * *"
timezone: Asia/Dhaka
---
kind: Job
name: wreck
description: Uses up its tries.
binary: breaker@stable
retry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}
---
kind: DAG
name: etl
description: What the harbour took in, and at which rates.
timezone: Europe/Berlin
defaults: {binary: ticker@stable, retry: {max_attempts: 2, delay: 1ms, max_delay: 1ms}}
tasks:
  orders: {schedule: "0 * * * *"}
  rates: {schedule: "*/30 * * * *"}
  join: {needs: [orders, rates]}
  load: {needs: [join], binary: breaker@stable}
  report: {needs: [load]}
  tell: {needs: [report], trigger: all_done}
`;

/** Fills the server; gives the ids of a run that succeeded, of one that failed, one that goes on and one that died, and of a wave that failed. */
export async function fill(server) {
  for (const [name, text] of Object.entries({ ticker, breaker, sleeper })) await server.push(name, text);
  await server.push("ticker", `${ticker}echo done\n`);
  await server.post("users", { name: "ada", password: "a password of ada's", grants: { default: "editor" } });
  await server.apply(jobs.replace("every few seconds", "now and then"));
  await server.apply(jobs);
  const [good, bad, busy, dead] = await Promise.all(["ticker", "breaker", "sleeper", "wreck"].map((job) => server.run(job)));
  const wave = await server.wave("etl");
  return {
    dead: await server.reaches(dead, "dead"),
    wave,
    good: await server.reaches(good, "succeeded"),
    bad: await server.reaches(bad),
    busy: await server.reaches(busy, "running"),
  };
}
