// A browser opens six connections to a server over HTTP/1.1, for all of its windows together. A stream holds one of them
// for as long as it is read, so that six would leave none for the next page. So all windows share one stream of events and
// few streams of output, by locks that the browser releases when their page goes away, and hidden pages hold none.
//
// Browsers have locks only on https and on localhost: elsewhere each page that is seen holds its own streams.

const follows = 3; // streams of output at one time; with the one of events two connections stay free

// take waits for a lock and returns the function that releases it; null where ifAvailable is set and it is taken.
export function take(name, options) {
  return new Promise((resolve, reject) => {
    const held = (lock) => (lock ? new Promise((release) => resolve(release)) : resolve(null));
    navigator.locks.request(name, options, held).catch(reject);
  });
}

export const canShare = () => "locks" in navigator && "BroadcastChannel" in window;

// takeFollow takes one of the streams of output and returns the function that gives it back; null where all are taken.
export async function takeFollow() {
  if (!canShare()) return () => {};
  for (let i = 0; i < follows; i++) {
    const release = await take(`tidewheel-follow-${i}`, { ifAvailable: true });
    if (release) return release;
  }
  return null;
}

// seen waits until the page is seen, or the signal aborts.
export function seen(signal) {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}
