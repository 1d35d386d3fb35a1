// What every page loads: htmx, and its extension for server-sent events.
import htmx from "htmx.org";
import "htmx-ext-sse";

// The pages are served under a content security policy without inline code: no eval, and no style element of htmx's
// own (its rules are in app.css).
htmx.config.allowEval = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.historyCacheSize = 0; // going back asks the server: a run goes on while one looks elsewhere
