/** Work that can wait: what is out of view is drawn when the browser has nothing else to do, so that a picture of the whole page is whole. */

const WITHOUT_IDLE_MS = 200;

export function whenIdle(act: () => void, signal: AbortSignal): void {
  const unlessOver = (): void => { if (!signal.aborted) act(); };
  // Safari knows no idle time.
  if ("requestIdleCallback" in window) requestIdleCallback(unlessOver);
  else setTimeout(unlessOver, WITHOUT_IDLE_MS);
}
