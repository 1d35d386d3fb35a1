// Fields that take a name complete it from a part: <input data-complete="job dag">. The list is the browser's own.
const rest = 120; // milliseconds between the last key and the question to the server
let lists = 0;

function listOf(field) {
  if (field.list) return field.list;
  const list = document.createElement("datalist");
  list.id = `complete-${++lists}`;
  document.body.append(list);
  field.setAttribute("list", list.id);
  return list;
}

async function complete(field) {
  const text = field.value.trim();
  const answer = await fetch(`/ui/search?q=${encodeURIComponent(text)}`, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok || field.value.trim() !== text) return;
  const kinds = field.dataset.complete.split(" ");
  const { items } = await answer.json();
  const options = items.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => Object.assign(document.createElement("option"), { value: name }));
  listOf(field).replaceChildren(...options);
}

export function startComplete() {
  let waiting;
  for (const name of ["focusin", "input"]) {
    document.addEventListener(name, (event) => {
      const field = event.target.closest?.("input[data-complete]");
      if (!field) return;
      listOf(field);
      clearTimeout(waiting);
      waiting = setTimeout(() => complete(field), name === "input" ? rest : 0);
    });
  }
}
