// What a graph says of a task: the same in the editor, in the definition and in a wave.

const triggers = {
  all_done: "when all have ended", one_success: "at the first success", one_failed: "at the first failure",
  none_failed: "if none failed", always: "always, even when cancelled",
};

// drawn makes of {name, binary, needs, schedule, trigger, for_each, when} a task of a graph: {name, detail, notes, rule}.
// schedule is that of roots without their own. rule is what stands on the edges that lead to it, {label, words}.
export function drawn(task, schedule) {
  const notes = [];
  const root = task.needs.length === 0;
  if (root) {
    const shown = task.schedule?.length > 0 ? task.schedule : schedule;
    notes.push({ icon: "clock", words: shown?.length > 0 ? shown.join(", ") : "manual" });
  }
  if (task.for_each) notes.push({ icon: "copy", words: `for each of ${task.for_each}` });
  if (task.when) notes.push({ icon: "diff", words: `if ${task.when}` });
  const label = triggers[task.trigger] ? task.trigger.replaceAll("_", " ") : "";
  const words = [triggers[task.trigger], task.when && `if ${task.when}`].filter(Boolean).join(", ");
  const rule = words && !root ? { label: label || "when", words } : null;
  return { name: task.name, detail: task.binary, notes, rule };
}
