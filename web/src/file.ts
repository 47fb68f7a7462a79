/** A page that holds its data: one run, or several to choose from. */
import type { Data } from "./data/generated.js";
import { h } from "./dom.js";
import { labelled, select } from "./parts/section.js";
import { drawRun } from "./report_page.js";

export function showFile(page: HTMLElement, data: Data): void {
  let shown = new AbortController();
  let chosen = 0;
  let other = data.runs.length > 1 ? 1 : -1;
  let open: (finding: string) => void = () => undefined;

  const show = (): void => {
    shown.abort();
    shown = new AbortController();
    open = drawRun(page, {
      data,
      run: data.runs[chosen]!,
      other: data.runs[other] ?? null,
      toFinding: (id) => ({ href: `#finding=${encodeURIComponent(id)}` }),
      loadStep: null,
      picker: picker(),
      notice: null,
      atOnce: location.hash !== "" || !isNewlyOpened(),
      aside: "This page holds all of its data and needs no network.",
      signal: shown.signal,
    });
  };
  const picker = (): HTMLElement | null => {
    if (data.runs.length < 2) return null;
    const names = data.runs.map((run, place) => `${place + 1}: ${run.report.run.name}`);
    return h("div", { class: "picker" },
      labelled("Run", select(names, chosen, (index) => {
        if (index === other) other = chosen;
        chosen = index;
        show();
      })),
      labelled("Compare with", select(["nothing", ...names], other + 1, (index) => {
        other = index - 1 === chosen ? -1 : index - 1;
        show();
      })));
  };
  const openLinked = (): void => {
    const finding = new URLSearchParams(location.hash.replace(/^#/, "")).get("finding");
    if (finding !== null) open(finding);
  };
  show();
  addEventListener("hashchange", openLinked);
  openLinked();
}

/** Not when it is read again or come back to: then the browser scrolls to where the reader was. */
function isNewlyOpened(): boolean {
  return performance.getEntriesByType("navigation").some((one) => (one as PerformanceNavigationTiming).type === "navigate");
}
