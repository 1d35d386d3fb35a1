// The editor of definitions: CodeMirror with completion and words from the JSON Schema, problems where they stand, and
// changes from outside that leave comments alone. It lives in a shadow root, where a strict content security policy
// lets it have its styles: they are adopted style sheets there, and style elements anywhere else.
//
//   const editor = makeYamlEditor(parent, { label, from, schema, suggest, onChange });   from is a Text, see text.js
//   editor.text(), editor.setText(text)     all of it
//   editor.read()                           {values, problem}, see document.js
//   editor.patch(path, value)               one value, undefined to take it away; reports whether the text could be read
//   editor.patchAll(edits)                  many at once, see document.js; one step of undo
//   editor.undo(), editor.redo(), editor.past()   past returns {undo, redo}, how many steps there are
//   editor.setProblems([{line, column, message}])
//   editor.goTo(line, column), editor.reveal(line), editor.focus(), editor.destroy()
//
// onChange(text, by) is called after each change with by = "typed", "patched" or "set". suggest(path) may give more
// values for a place than the schema knows, such as the names of what is there.
import { defaultKeymap, history, historyKeymap, isolateHistory, redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, StateEffect } from "@codemirror/state";
import {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { read } from "./document.js";
import * as words from "./schema.js";
import { changesFor } from "./text.js";

const origin = Annotation.define();

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "0.875rem", color: "var(--ink)", backgroundColor: "var(--surface)", borderRadius: "inherit" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.55" },
  ".cm-content": { padding: "0.5rem 0", caretColor: "var(--accent-strong)" },
  ".cm-cursor": { borderLeftColor: "var(--accent-strong)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--ink-soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--accent) 16%, transparent)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent)" },
  ".cm-tooltip": {
    border: "1px solid var(--line)", borderRadius: "var(--radius)", backgroundColor: "var(--surface)", color: "var(--ink)",
    boxShadow: "var(--shadow)", fontFamily: "var(--font)", fontSize: "0.8125rem",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete ul li": { padding: "0.2rem 0.5rem" },
  ".cm-completionInfo": { maxWidth: "22rem", padding: "0.5rem 0.75rem" },
  ".cm-words": { maxWidth: "24rem", padding: "0.5rem 0.75rem" },
  ".cm-diagnostic": { padding: "0.4rem 0.6rem", borderLeftColor: "var(--bad)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "0.2em" },
  ".cm-lint-marker-error": { content: '""', width: "0.7em", height: "0.7em", borderRadius: "50%", backgroundColor: "var(--bad)", marginTop: "0.45em" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
  ".cm-panels input, .cm-panels button": { color: "inherit", backgroundColor: "var(--surface)", backgroundImage: "none", borderColor: "var(--line)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent-strong)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.keyword, tags.attributeValue], color: "var(--busy)" },
  { tag: tags.comment, color: "var(--ink-soft)", fontStyle: "italic" },
  { tag: [tags.meta, tags.labelName, tags.typeName], color: "var(--warn)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--ink-soft)" },
]);

const current = (view) => view.state.doc.toString();

function hover(schema) {
  return hoverTooltip((view, position) => {
    const line = view.state.doc.lineAt(position);
    const key = [...line.text.matchAll(/([A-Za-z_][\w-]*)\s*:/g)].find((found) => {
      const from = line.from + found.index;
      return position >= from && position <= from + found[1].length;
    });
    if (!key) return null;
    const path = words.pathAt(words.linesTo(current(view), line.from + key.index + key[0].length));
    const text = words.about(words.at(schema, words.kindOf(current(view)), path));
    if (text === "") return null;
    const from = line.from + key.index;
    return { pos: from, end: from + key[1].length, above: true, create: () => ({ dom: box(text) }) };
  });
}

function box(text) {
  const dom = document.createElement("div");
  dom.className = "cm-words";
  dom.textContent = text;
  return dom;
}

export function makeYamlEditor(parent, { label, from, schema, suggest, onChange }) {
  const shadow = parent.attachShadow({ mode: "open" });
  const blank = EditorState.create({
    doc: from.steps[0],
    extensions: [
      lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(),
      bracketMatching(), highlightActiveLine(), lintGutter(),
      yaml(), indentUnit.of("  "), EditorState.tabSize.of(2), EditorView.lineWrapping, look, syntaxHighlighting(colours),
      hover(schema),
      // Tab goes on to the next field, as everywhere on a page.
      keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, autocapitalize: "off", autocorrect: "off", spellcheck: "false" }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        const by = update.transactions.map((transaction) => transaction.annotation(origin)).find(Boolean) ?? "typed";
        onChange?.(update.state.doc.toString(), by);
      }),
    ],
  });
  const view = new EditorView({ state: withHistory(blank, from), parent: shadow, root: shadow });
  view.contentDOM.addEventListener("focus", () => assist(view, schema, suggest), { once: true });
  const write = (edits, annotations) => {
    const changes = changesFor(schema, current(view), edits);
    if (changes === null) return false;
    if (changes.length > 0) {
      view.dispatch({ changes, annotations: [origin.of("patched"), ...annotations], effects: EditorView.scrollIntoView(changes.at(-1).from, { y: "nearest" }) });
    }
    return true;
  };
  return {
    text: () => current(view),
    read: () => read(current(view)),
    setText(fresh) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: fresh }, annotations: [origin.of("set"), isolateHistory.of("full")] });
    },
    patch: (path, value) => write([{ path, value }], []),
    // What is typed into a field at a stretch is one step to take back; what is done at once is a step of its own.
    patchAll: (edits) => write(edits, [isolateHistory.of("full")]),
    undo: () => undo(view),
    redo: () => redo(view),
    past: () => ({ undo: undoDepth(view.state), redo: redoDepth(view.state) }),
    reveal(line) {
      view.dispatch({ effects: EditorView.scrollIntoView(place(view.state.doc, line, 1), { y: "center" }) });
    },
    setProblems(problems) {
      const diagnostics = problems.map((problem) => ({ ...span(view.state.doc, problem), severity: "error", message: problem.message }));
      view.dispatch(setDiagnostics(view.state, diagnostics.sort((a, b) => a.from - b.from)));
    },
    goTo(line, column = 1) {
      const at = place(view.state.doc, line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

// withHistory takes the steps of a Text, so that they can be undone and done again.
function withHistory(blank, { steps, at }) {
  let state = blank;
  for (const step of steps.slice(1)) {
    state = state.update({ changes: difference(current({ state }), step), annotations: isolateHistory.of("full") }).state;
  }
  for (let i = steps.length - 1; i > at; i--) undo({ state, dispatch: (transaction) => (state = transaction.state) });
  return state;
}

// difference is the one change that makes a text of another.
function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let same = 0;
  while (same < most - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

// assist adds what helps while one types. Without it the editor can be used all the same.
async function assist(view, schema, suggest) {
  try {
    const { assistance } = await import("./assist.js");
    view.dispatch({ effects: StateEffect.appendConfig.of(assistance(schema, suggest)) });
  } catch (error) {
    console.warn("completion and search could not be loaded", error);
  }
}

function place(doc, line, column) {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + Math.max(column - 1, 0), found.to);
}

// span is what a problem underlines: from its column to the end of what stands there, or the line.
function span(doc, { line, column }) {
  if (!line) return { from: 0, to: Math.min(doc.line(1).length, doc.length) };
  const { from: start, to: end, text } = doc.line(Math.min(line, doc.lines));
  const from = place(doc, line, column || 1);
  const indented = column ? from : start + text.search(/\S|$/);
  const rest = text.slice(indented - start).replace(/\s+#.*$/, "").trimEnd();
  return { from: indented, to: Math.min(Math.max(indented + rest.length, indented), end) };
}
