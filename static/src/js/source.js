// Colours the source of a script, line by line, with the grammar of its interpreter. The page sends plain lines, so that
// it is read without this script, and no server works for it; a grammar is one to six KB, and loaded when it is needed.
import { interpreterOf } from "./kind.js";

const grammars = {
  shell: () => import("@codemirror/legacy-modes/mode/shell").then((mode) => mode.shell),
  python: () => import("@codemirror/legacy-modes/mode/python").then((mode) => mode.python),
  javascript: () => import("@codemirror/legacy-modes/mode/javascript").then((mode) => mode.javascript),
  typescript: () => import("@codemirror/legacy-modes/mode/javascript").then((mode) => mode.typescript),
  ruby: () => import("@codemirror/legacy-modes/mode/ruby").then((mode) => mode.ruby),
  perl: () => import("@codemirror/legacy-modes/mode/perl").then((mode) => mode.perl),
  lua: () => import("@codemirror/legacy-modes/mode/lua").then((mode) => mode.lua),
  r: () => import("@codemirror/legacy-modes/mode/r").then((mode) => mode.r),
  tcl: () => import("@codemirror/legacy-modes/mode/tcl").then((mode) => mode.tcl),
  groovy: () => import("@codemirror/legacy-modes/mode/groovy").then((mode) => mode.groovy),
  powershell: () => import("@codemirror/legacy-modes/mode/powershell").then((mode) => mode.powerShell),
};

// Interpreters by the grammar of their language; a version at the end of a name is left out.
const languages = {
  shell: ["sh", "bash", "dash", "ash", "ksh", "zsh", "busybox"],
  python: ["python", "pypy", "uv"],
  javascript: ["node", "nodejs"],
  typescript: ["deno", "bun", "ts-node", "tsx"],
  ruby: ["ruby", "jruby"],
  perl: ["perl"],
  lua: ["lua", "luajit"],
  r: ["rscript", "r"],
  tcl: ["tclsh", "wish", "expect"],
  groovy: ["groovy"],
  powershell: ["pwsh", "powershell"],
};

/** The name of the grammar for a script that begins with a line; undefined where there is none. */
export function languageOf(firstLine) {
  if (!firstLine.startsWith("#!")) return undefined;
  const name = interpreterOf(firstLine).toLowerCase().replace(/[\d.]+$/, "");
  return Object.keys(languages).find((language) => languages[language].includes(name));
}

// What a grammar may call a piece, and how that looks. Others stay plain.
const looks = {
  comment: "comment", string: "string", keyword: "keyword", controlKeyword: "keyword", atom: "number", bool: "number", number: "number",
  meta: "meta", builtin: "name", def: "name", standard: "name", attribute: "name", propertyName: "name", variableName: "",
};

/** Cuts lines into pieces, one array of [text, look] for each line; the state goes on from line to line. */
export function makeColouring(grammar, Stream) {
  const state = grammar.startState ? grammar.startState(2) : {};
  return (line) => {
    if (line === "") {
      grammar.blankLine?.(state, 2);
      return [];
    }
    const pieces = [];
    const stream = new Stream(line, 8, 2);
    while (!stream.eol()) {
      const style = grammar.token(stream, state);
      const text = stream.current();
      stream.start = stream.pos;
      if (text === "") continue; // the grammar only changed its state
      const look = (style ?? "").split(/[\s.]+/).map((word) => looks[word]).find(Boolean) ?? "";
      const last = pieces.at(-1);
      if (last && last[1] === look) last[0] += text;
      else pieces.push([text, look]);
    }
    return pieces;
  };
}

function paint(code, pieces) {
  const parts = pieces.map(([text, look]) => {
    if (look === "") return text;
    const span = document.createElement("span");
    span.className = `t-${look}`;
    span.textContent = text;
    return span;
  });
  code.replaceChildren(...parts);
}

const slice = 12; // milliseconds of work before the page may do something else

async function colour(box) {
  const codes = [...box.querySelectorAll(":scope > div > code")];
  const language = languageOf(codes[0]?.textContent ?? "");
  if (!language) return;
  const [grammar, { StringStream }] = await Promise.all([grammars[language](), import("@codemirror/streamparser")]);
  const pieces = makeColouring(grammar, StringStream);
  let at = 0;
  const go = () => {
    const until = performance.now() + slice;
    while (at < codes.length && performance.now() < until) paint(codes[at], pieces(codes[at++].textContent));
    if (at < codes.length) setTimeout(go);
    else box.dataset.source = language;
  };
  go();
}

export function startSource() {
  for (const box of document.querySelectorAll("[data-source]")) colour(box);
}
