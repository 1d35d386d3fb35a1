// Saving without leaving the page: a save that is refused keeps what can be undone, what is selected and where one was.
import { sessionEnded } from "../live.js";
import { showAll as showTimes } from "../time.js";

export class Saving {
  // page is the DefinitionPage.
  constructor(page) {
    this.page = page;
    page.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.busy) this.save(event.submitter);
    });
  }

  async save(submitter) {
    const { page } = this;
    this.busy = true;
    page.area.value = page.editor.text();
    page.draft.keep();
    page.say("Saving…");
    try {
      const body = new URLSearchParams(new FormData(page.form, submitter));
      const answer = await fetch(page.form.getAttribute("action"), { method: "POST", body, headers: { "HX-Request": "true", Accept: "text/html" } });
      await this.answered(answer);
    } catch {
      page.say("Not saved: the server does not answer. A draft is kept in this browser.");
    } finally {
      this.busy = false;
    }
  }

  async answered(answer) {
    const { page } = this;
    const next = answer.headers.get("HX-Redirect");
    if (answer.ok && next) {
      page.leaving = true;
      page.draft.drop();
      location.assign(next);
      return;
    }
    if (answer.status === 401) {
      sessionEnded();
      location.reload(); // the server shows the way in, and leads back
      return;
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const check = fresh.getElementById("check");
    if (!check) {
      page.say(`Not saved: ${fresh.querySelector("main h1")?.textContent.trim() ?? `the server answered ${answer.status}`}. A draft is kept in this browser.`);
      return;
    }
    document.getElementById("check").replaceWith(check);
    page.form.querySelector("#conflict")?.closest("section").remove();
    const conflict = fresh.getElementById("conflict")?.closest("section");
    if (conflict) {
      page.form.prepend(conflict);
      showTimes(conflict);
    }
    page.showProblems();
    (conflict ?? check).scrollIntoView({ block: "nearest" });
    const refused = check.querySelector(".note.bad")?.textContent;
    page.say(conflict ? "Not saved: another user has changed it." : `Not saved: ${refused ?? check.querySelector("h2").textContent}.`);
  }
}
