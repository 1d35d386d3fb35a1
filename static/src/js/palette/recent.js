// What was looked at lately, kept in the browser.
import { recall, remember } from "../keys.js";

const recentKey = "tidewheel.recent";
const recentKept = 8;

export function recent() {
  try {
    return JSON.parse(recall(recentKey) ?? "[]").filter((item) => typeof item.href === "string" && item.href.startsWith("/"));
  } catch {
    return [];
  }
}

export function visit(item) {
  const rest = recent().filter((other) => other.href !== item.href);
  remember(recentKey, JSON.stringify([item, ...rest].slice(0, recentKept)));
}
