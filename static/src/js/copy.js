// Buttons that copy a text, where the browser lets a page do so.
export function startCopy() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const words = button.firstChild;
    const before = words.textContent;
    await navigator.clipboard.writeText(button.dataset.copy);
    words.textContent = "Copied";
    setTimeout(() => (words.textContent = before), 1500);
  });
}
