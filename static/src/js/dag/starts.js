// The definitions to begin with: name is that of the DAG, program the first that there is.

const head = (name) => `kind: DAG\nname: ${name}\nschedule: "0 3 * * *"   # every night\n\n`;

export const starts = {
  empty: (name, program) => `${head(name)}tasks:\n  first: {binary: ${program}}\n`,

  chain: (name, program) => `${head(name)}tasks:
  fetch:  {binary: ${program}}
  check:  {binary: ${program}, needs: [fetch]}
  report: {binary: ${program}, needs: [check]}
`,

  diamond: (name, program) => `${head(name)}tasks:
  fetch:  {binary: ${program}}
  prices: {binary: ${program}, needs: [fetch]}
  stocks: {binary: ${program}, needs: [fetch]}
  # both have to succeed
  join:   {binary: ${program}, needs: [prices, stocks]}
`,

  fan: (name, program) => `${head(name)}tasks:
  # writes its list as an output: echo 'shops=["north", "south"]' >> "$TIDEWHEEL_OUTPUT"
  list:  {binary: ${program}}
  shop:  {binary: ${program}, needs: [list], for_each: outputs.list.shops, max_parallel: 8}
  total: {binary: ${program}, needs: [shop], trigger: none_failed}
`,

  cleanup: (name, program) => `${head(name)}tasks:
  prepare: {binary: ${program}}
  work:    {binary: ${program}, needs: [prepare], retry: {max_attempts: 3}}
  publish: {binary: ${program}, needs: [work]}
  # runs however the others ended
  tidy:    {binary: ${program}, needs: [publish], trigger: all_done}
  # runs only if something failed
  alarm:   {binary: ${program}, needs: [work, publish], trigger: one_failed}
`,
};
