// What helps while one types YAML: completion from the JSON Schema, brackets in pairs, and searching. The editor loads it when it is
// first focused.
import { autocompletion, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Prec } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import * as words from "./schema.js";

// assistance returns the extensions. suggest(path) may give more values for a place than the schema knows.
export const assistance = (schema, suggest) => [
  closeBrackets(), highlightSelectionMatches(), autocompletion({ override: [completion(schema, suggest)] }),
  Prec.high(keymap.of([...closeBracketsKeymap, ...searchKeymap])),
];

function completion(schema, suggest) {
  return (context) => {
    const lines = words.linesTo(context.state.doc.toString(), context.pos);
    const word = context.matchBefore(/[\w@.:*/-]*/);
    if (!context.explicit && word.from === word.to) return null;
    if (/(^|\s)#/.test(lines.at(-1))) return null;
    const path = words.pathAt(lines);
    const kind = words.kindOf(context.state.doc.toString());
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
