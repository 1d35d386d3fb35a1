// The editor of definitions: CodeMirror with completion and words from the JSON Schema, problems where they stand, and
// changes from outside that leave comments alone. It lives in a shadow root, where a strict content security policy
// lets it have its styles: they are adopted style sheets there, and style elements anywhere else.
//
//   const editor = makeYamlEditor(parent, { label, text, schema, suggest, onChange });
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
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, isolateHistory, redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState } from "@codemirror/state";
import {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { patchAll, read } from "./document.js";
import * as words from "./schema.js";

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

const kindOf = (state) => state.doc.toString().match(/^kind:\s*["']?(\w+)/m)?.[1];

function linesTo(state, position) {
  return state.doc.sliceString(0, position).split("\n");
}

function completion(schema, suggest) {
  return (context) => {
    const lines = linesTo(context.state, context.pos);
    const word = context.matchBefore(/[\w@.:*/-]*/);
    if (!context.explicit && word.from === word.to) return null;
    if (/(^|\s)#/.test(lines.at(-1))) return null;
    const path = words.pathAt(lines);
    const kind = kindOf(context.state);
    if (path.at(-1) !== "") {
      const options = [...(suggest?.(path) ?? []), ...words.values(schema, kind, path)];
      return options.length === 0 ? null : { from: word.from, options: [...new Set(options)].map((label) => ({ label, type: "constant" })) };
    }
    const there = new Set(context.state.doc.toString().split("\n").map((line) => line.match(/^([\w-]+)\s*:/)?.[1]));
    const options = words.keys(schema, kind, path.slice(0, -1)).filter((key) => path.length > 1 || !there.has(key.name));
    return {
      from: word.from, validFor: /^\w*$/,
      options: options.map((key) => ({ label: key.name, apply: `${key.name}: `, type: "property", info: key.about })),
    };
  };
}

function hover(schema) {
  return hoverTooltip((view, position) => {
    const line = view.state.doc.lineAt(position);
    const key = [...line.text.matchAll(/([A-Za-z_][\w-]*)\s*:/g)].find((found) => {
      const from = line.from + found.index;
      return position >= from && position <= from + found[1].length;
    });
    if (!key) return null;
    const path = words.pathAt(linesTo(view.state, line.from + key.index + key[0].length));
    const text = words.about(words.at(schema, kindOf(view.state), path));
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

export function makeYamlEditor(parent, { label, text, schema, suggest, onChange }) {
  const shadow = parent.attachShadow({ mode: "open" });
  const state = EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(),
      bracketMatching(), closeBrackets(), highlightActiveLine(), highlightSelectionMatches(), lintGutter(),
      yaml(), indentUnit.of("  "), EditorState.tabSize.of(2), EditorView.lineWrapping, look, syntaxHighlighting(colours),
      autocompletion({ override: [completion(schema, suggest)] }), hover(schema),
      // Tab goes on to the next field, as everywhere on a page.
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, autocapitalize: "off", autocorrect: "off", spellcheck: "false" }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        const by = update.transactions.map((transaction) => transaction.annotation(origin)).find(Boolean) ?? "typed";
        onChange?.(update.state.doc.toString(), by);
      }),
    ],
  });
  const view = new EditorView({ state, parent: shadow, root: shadow });
  const current = () => view.state.doc.toString();
  const write = (edits, annotations) => {
    const kind = kindOf(view.state);
    const changes = patchAll(current(), edits, (path) => words.keys(schema, kind, path).map((key) => key.name));
    if (changes === null) return false;
    if (changes.length > 0) {
      view.dispatch({ changes, annotations: [origin.of("patched"), ...annotations], effects: EditorView.scrollIntoView(changes.at(-1).from, { y: "nearest" }) });
    }
    return true;
  };
  return {
    text: current,
    read: () => read(current()),
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
