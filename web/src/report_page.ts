/** One run drawn, beside another where one is chosen: header, list of sections, sections. */
import { FRAMEWORKS, type Data, type PageData } from "./data/generated.js";
import { h, replaceChildren } from "./dom.js";
import { save } from "./parts/csv.js";
import { folded, foldedOnPhones, unfold, type Section, type View } from "./parts/section.js";
import { themeButton } from "./parts/theme.js";
import { attribution } from "./sections/attribution.js";
import { capture, metrics, notApplicable, passed } from "./sections/about.js";
import { collectives } from "./sections/collectives.js";
import { compare } from "./sections/compare.js";
import { devices } from "./sections/devices.js";
import { findings } from "./sections/findings.js";
import { input } from "./sections/input.js";
import { ops } from "./sections/ops.js";
import { computeParts } from "./sections/compute_parts.js";
import { memory } from "./sections/memory.js";
import { steps } from "./sections/steps.js";
import { timeline } from "./sections/timeline.js";
import { verdict, verdictName } from "./sections/verdict.js";

/** picker: chooses runs. notice: what is new about the runs. aside: the last words of the page. */
export interface Wanted {
  data: Data;
  run: PageData;
  other: PageData | null;
  toFinding: View["links"]["toFinding"];
  loadStep: View["links"]["loadStep"];
  picker: HTMLElement | null;
  notice: HTMLElement | null;
  aside: string;
  /** Draw everything now. Otherwise the first screen is shown before the rest is made. */
  atOnce: boolean;
  signal: AbortSignal;
}

/** Draws over what the page showed before; returns what opens a finding and brings it into view. */
export function drawRun(page: HTMLElement, wanted: Wanted): (finding: string) => void {
  const { run, signal } = wanted;
  const main = h("main", { "aria-busy": "true" });
  const names = contents();
  let made: ReturnType<typeof sections> | null = null;
  const finish = (): void => {
    if (made !== null || signal.aborted) return;
    const rest = made = sections(view);
    main.append(...rest.list.map((one) => one.element));
    names.fill([first, ...rest.list]);
    main.removeAttribute("aria-busy");
    follow([first, ...rest.list], signal);
  };
  const openFinding = (finding: string): void => {
    finish();
    made?.open(finding);
  };
  const showTimeline: View["links"]["showTimeline"] = (...asked) => {
    finish();
    return made?.showTimeline(...asked) ?? false;
  };
  const view = viewOf(wanted, { openFinding, showTimeline });
  const first = verdict(view);
  main.append(first.element);
  document.title = `${verdictName(run.report)}: ${run.report.run.name} – tfadvisor`;
  replaceChildren(page,
    h("a", { class: "skip", href: "#verdict" }, "Skip to the verdict"),
    header(run, wanted.picker, wanted.notice),
    h("div", { class: "frame" }, names.element, main),
    h("footer", { class: "dim small" }, `${run.report.tool.name} ${run.report.tool.version}, report schema ${run.report.schema_version}. ${wanted.aside} `, jsonButton(run)));
  if (wanted.atOnce) finish();
  else afterPaint(finish);
  addEventListener("beforeprint", finish, { capture: true, signal });
  return openFinding;
}

/** The report, and the tables of the page, as a file. */
function jsonButton(run: PageData): HTMLElement {
  return h("button", { type: "button", class: "quiet", on: { click: () => { save(`${run.report.run.name.replace(/[^\w.-]+/g, "_")}.json`, JSON.stringify({ ...run, drawn: undefined, more: undefined }, null, 1), "application/json"); } } }, "Save as JSON");
}

/** In a window that is not shown, once it is. */
function afterPaint(act: () => void): void {
  requestAnimationFrame(() => { setTimeout(act); });
}

export function topLine(picker: HTMLElement | null): HTMLElement {
  return h("div", { class: "top-line" }, h("p", { class: "product" }, "tfadvisor"), picker, themeButton());
}

function viewOf({ data, run, other, signal, toFinding, loadStep }: Wanted, links: Pick<View["links"], "openFinding" | "showTimeline">): View {
  return { data, run, other, signal, links: { toFinding, loadStep, ...links } };
}

/** All but the verdict. */
function sections(view: View): { list: Section[]; open: (finding: string) => void; showTimeline: View["links"]["showTimeline"] } {
  const drawn = timeline(view);
  const advice = findings(view);
  const list = [
    compare(view), attribution(view), advice, foldedOnPhones(steps(view)), foldedOnPhones(drawn),
    folded(computeParts(view)),
    foldedOnPhones(ops(view)),
    folded(memory(view)),
    collectives(view),
    folded(devices(view)),
    folded(input(view)),
    folded(metrics(view)), passed(view), capture(view), notApplicable(view),
  ];
  return { list: list.filter((one) => one !== null), open: advice.open, showTimeline: drawn.show };
}

function header({ report }: PageData, picker: HTMLElement | null, notice: HTMLElement | null): HTMLElement {
  const { run } = report;
  const framework = [FRAMEWORKS[run.framework] ?? "", run.framework_version ?? ""].join(" ").trim();
  const hosts = run.hosts.length > 1 ? `${run.hosts.length} hosts` : (run.hosts[0] ?? "");
  const captured = run.captured_at === null ? "" : run.captured_at.replace("T", " ").replace(/(:\d\d)(\.\d+)?(\+00:00|Z)$/, "$1 UTC");
  return h("header", { class: "top" },
    topLine(picker),
    notice,
    h("h1", null, run.name),
    h("p", { class: "dim" }, [framework, hosts, deviceWords(run.devices), captured].filter((one) => one !== "").join(" · ")));
}

/** `8 GPU (H100)`. */
function deviceWords(devices: { kind: string; model: string }[]): string {
  const kinds = new Map<string, number>();
  for (const one of devices) {
    const kind = `${one.kind.toUpperCase()}${one.model === "" ? "" : ` (${one.model})`}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds.size === 0 ? "no device work" : [...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ");
}

/** Empty until it is known which sections there are. */
function contents(): { element: HTMLElement; fill: (list: Section[]) => void } {
  const names = h("ul");
  const fill = (list: Section[]): void => {
    replaceChildren(names, ...list.map((one) => h("li", null, h("a", { href: `#${one.id}`, on: { click: () => { unfold(one.element); } } }, one.title, one.note === undefined || one.note === "" ? null : h("span", { class: "note" }, one.note)))));
  };
  return { element: h("nav", { class: "contents", "aria-label": "Sections" }, names), fill };
}

/** Marks the section in view in the list of sections. */
function follow(list: Section[], signal: AbortSignal): void {
  const links = new Map([...document.querySelectorAll<HTMLAnchorElement>(".contents a")].map((link) => [link.hash.slice(1), link]));
  const inView = new Set<string>();
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) inView.add(entry.target.id);
      else inView.delete(entry.target.id);
    }
    const first = list.find((one) => inView.has(one.id))?.id;
    for (const [id, link] of links) {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-15% 0px -60% 0px" });
  for (const one of list) seen.observe(one.element);
  signal.addEventListener("abort", () => { seen.disconnect(); });
}
