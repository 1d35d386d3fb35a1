// What every page loads. The pages can be read and used without any of it; it keeps them fresh, shows times in the
// reader's zone and follows output as it comes.
import htmx from "htmx.org";
import "./js/morph.js";
import { startTimes } from "./js/time.js";
import { startZone } from "./js/zone.js";
import { startLive } from "./js/live.js";
import { startDrafts } from "./js/drafts.js";
import { startOutput } from "./js/output.js";
import { startUpload } from "./js/upload.js";
import { startForms } from "./js/forms.js";
import { startJob } from "./js/job.js";
import { startDefinitionForm } from "./js/definitionform.js";
import { startKeys } from "./js/keys.js";
import { startPalette } from "./js/palette.js";
import { startCopy } from "./js/copy.js";
import { startOverlays } from "./js/overlays.js";
import { startFlash } from "./js/flash.js";
import { startTheme } from "./js/theme.js";
import { startTimeline } from "./js/timeline.js";
import { startGrid } from "./js/grid.js";
import { startChoose } from "./js/choose.js";
import { startStars } from "./js/star.js";
import { startComplete } from "./js/complete.js";
import { startViews } from "./js/views.js";
import { startPanel } from "./js/panel.js";

// The pages are served under a content security policy without inline code: no eval, and no style element of htmx's
// own (its rules are in the style sheet).
htmx.config.allowEval = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.historyCacheSize = 0; // going back asks the server: a run goes on while one looks elsewhere
htmx.config.selfRequestsOnly = true;
htmx.config.timeout = 10_000;

startZone(); // before what shows times in it
startTimes();
startDrafts(); // before the editors, which begin with what is in their fields
startLive();
startOutput();
startUpload();
startForms();
startJob();
startDefinitionForm();
startKeys();
startPalette();
startCopy();
startOverlays();
startFlash();
startTheme();
startTimeline();
startGrid();
startChoose();
startStars();
startComplete();
startViews();
startPanel();
if (document.querySelector("[data-source]")) import("./js/source.js").then((source) => source.startSource());
