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
`;

/** Fills the server; gives the ids of a run that succeeded, one that failed and one that goes on. */
export async function fill(server) {
  for (const [name, text] of Object.entries({ ticker, breaker, sleeper })) await server.push(name, text);
  await server.push("ticker", `${ticker}echo done\n`);
  await server.apply(jobs.replace("every few seconds", "now and then"));
  await server.apply(jobs);
  const [good, bad, busy] = await Promise.all(["ticker", "breaker", "sleeper"].map((job) => server.run(job)));
  return {
    good: await server.reaches(good, "succeeded"),
    bad: await server.reaches(bad),
    busy: await server.reaches(busy, "running"),
  };
}
