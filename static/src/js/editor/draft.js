// The draft of the definition on this page: kept while one types, and offered again when the page is opened anew. It is never
// put over what the server has without being asked for.
import { draftOf, dropDraft, keepDraft, pageOf } from "../draftstore.js";
import { span } from "../time.js";

const rest = 400; // milliseconds after the last change until a draft is kept

export class Draft {
  // page is the DefinitionPage.
  constructor(page) {
    this.page = page;
    this.at = pageOf();
    this.message = page.form.elements.message;
    this.revision = page.form.elements.revision;
    this.words = page.form.querySelector("[data-jobform-draft]");
    this.form = page.form;
    this.form.addEventListener("click", (event) => {
      const act = event.target.closest("[data-draft]")?.dataset.draft;
      if (act) this[act]();
    });
    this.message.addEventListener("input", () => this.changed());
    // A tab that is closed or killed says nothing more than this.
    addEventListener("pagehide", () => this.keep());
    document.addEventListener("visibilitychange", () => document.hidden && this.keep());
    this.offer();
  }

  changed() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.keep(), rest);
  }

  keep() {
    clearTimeout(this.resting);
    if (this.done || this.offered) return; // what is offered stays until the user has decided
    if (!this.page.dirty) {
      if (draftOf(this.at)) dropDraft(this.at); // all of it was undone
      return;
    }
    const kept = keepDraft(this.at, { title: document.querySelector("main h1").textContent, text: this.page.editor.text(), message: this.message.value, revision: this.revision.value });
    this.page.kept(kept);
  }

  /** Called once it is saved, or given up. */
  drop() {
    clearTimeout(this.resting);
    this.done = true;
    dropDraft(this.at);
  }

  offer() {
    const draft = draftOf(this.at);
    if (!draft) return;
    if (draft.text === this.page.editor.text()) {
      if (this.message.value === "") this.message.value = draft.message;
      return; // it is here already: the server has sent it back, or the session was renewed
    }
    this.offered = draft;
    const note = this.words;
    note.querySelector("[data-draft-age]").textContent = span(Math.max(Date.now() - draft.at, 0));
    note.querySelector("[data-draft-behind]").hidden = draft.revision === this.revision.value;
    note.hidden = false;
  }

  restore() {
    const draft = this.offered;
    this.offered = null;
    this.words.hidden = true;
    // It stays a change of the version that it began with: a save over a later one is refused, and shows both.
    this.revision.value = draft.revision;
    this.message.value = draft.message;
    this.page.editor.setText(draft.text);
    this.page.editor.focus();
  }

  discard() {
    this.offered = null;
    this.words.hidden = true;
    dropDraft(this.at);
    this.page.editor.focus();
    this.keep();
  }
}
