import assert from "node:assert/strict";
import { test } from "node:test";
import { allowed, rank, score, subject } from "../src/js/palette/rank.js";

const words = (query, texts) => rank(query, texts.map((text) => ({ words: text }))).map((found) => found.item.words);

test("the best answer comes first", () => {
  assert.deepEqual(words("night", ["all-nights", "nightly-report", "midnight", "tides"]), ["nightly-report", "all-nights", "midnight"]);
  assert.deepEqual(words("nr", ["inner", "nightly-report"]), ["nightly-report", "inner"]);
  assert.equal(words("pause tid", ["Pause tides", "Pause other", "tides"])[0], "Pause tides");
  assert.deepEqual(words("", ["b", "a"]), ["b", "a"]);
  assert.deepEqual(words("nr", ["in-row", "unreal", "night-report", "nr-day"]), ["nr-day", "night-report", "unreal", "in-row"], "prefix, beginnings of words, a part, letters in order");
});

test("who begins with a verb means the action", () => {
  const items = [{ words: "Run of tide-tables", boost: 40 }, { words: "Run tide-tables now", boost: -30, about: "tide-tables" }];
  assert.equal(rank("run tables", items)[0].item, items[1]);
  assert.equal(rank("tables", items)[0].item, items[0]);
});

test("letters that are missing, out of order or strewn answer nothing", () => {
  assert.equal(score("xyz", "tides").score, 0);
  assert.equal(score("sdit", "tides").score, 0);
  assert.equal(score("tg", `t${"-".repeat(60)}g`).score, 0);
  assert.deepEqual(score("td", "tides").marks, [0, 2]);
  assert.deepEqual(score("ide", "tides").marks, [1, 2, 3]);
});

test("a verb before a name is not a part of it", () => {
  assert.equal(subject("pause tides"), "tides");
  assert.equal(subject("Run tides now"), "tides");
  assert.equal(subject("running tides"), "running tides");
  assert.equal(subject(" tides "), "tides");
  assert.equal(subject("run"), "run");
});

test("what a role does not allow is not offered", () => {
  const items = [{ words: "Go to Jobs" }, { words: "New job", needs: "edit" }, { words: "Pause tides", needs: "operate" }];
  const offered = (...role) => allowed(items, (what) => role.includes(what)).map((item) => item.words);
  assert.deepEqual(offered(), ["Go to Jobs"]);
  assert.deepEqual(offered("operate"), ["Go to Jobs", "Pause tides"]);
  assert.deepEqual(offered("operate", "edit"), ["Go to Jobs", "New job", "Pause tides"]);
});
