// The swap style of parts that refresh by themselves: what has not changed stays as it is, so focus, selection, scroll
// positions and opened details survive.
import htmx from "htmx.org";
import { Idiomorph } from "idiomorph";

const callbacks = {
  // The script has put a time into the reader's words: it is changed only if the instant is another one.
  beforeNodeMorphed(old, fresh) {
    if (old.dataset && "drawn" in old.dataset) return false; // a script draws it
    return !(old.nodeName === "TIME" && fresh.nodeName === "TIME" && sameTime(old, fresh));
  },
  // What the reader has opened stays open, what the reader has typed stays typed, and what is chosen stays chosen.
  beforeAttributeUpdated(name, node) {
    if (name === "value" && node.nodeName === "INPUT") return node.value === node.defaultValue;
    if (node.dataset?.kept?.split(" ").includes(name)) return false; // what the reader has turned to
    return !(name === "open" && node.nodeName === "DETAILS");
  },
};

function sameTime(old, fresh) {
  return old.getAttribute("datetime") === fresh.getAttribute("datetime") && old.dataset.form === fresh.dataset.form;
}

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap(style, target, fragment) {
    if (style !== "morph") return false;
    return Idiomorph.morph(target, fragment.children, { morphStyle: "outerHTML", ignoreActiveValue: true, callbacks });
  },
});
