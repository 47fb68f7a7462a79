/** Builds the page from the data inside it. */
import "./style.css";
import type { Data, Run } from "./data/model.js";
import { readData } from "./data/read.js";
import { append, h, replaceChildren } from "./dom.js";
import { labelled, select, type Section, type View } from "./parts/section.js";
import { startTheme, themeButton } from "./parts/theme.js";
import { capture, metrics, notApplicable } from "./sections/about.js";
import { collectives } from "./sections/collectives.js";
import { compare } from "./sections/compare.js";
import { devices } from "./sections/devices.js";
import { findings } from "./sections/findings.js";
import { input } from "./sections/input.js";
import { ops } from "./sections/ops.js";
import { steps } from "./sections/steps.js";
import { timeline } from "./sections/timeline.js";
import { verdict, verdictName } from "./sections/verdict.js";
import { trustOnlyText } from "./trust.js";

const FRAMEWORKS: Record<string, string> = { tensorflow: "TensorFlow", jax: "JAX", "pytorch-xla": "PyTorch/XLA" };

function start(): void {
  trustOnlyText();
  const page = document.getElementById("page");
  if (page === null) return;
  let data: Data;
  try {
    data = readData(document);
  } catch (error) {
    append(page, h("main", null, h("h1", null, "tfadvisor"), h("p", { class: "caveat" }, error instanceof Error ? error.message : String(error))));
    return;
  }
  startTheme();
  build(page, data);
}

/** Everything below is made anew when another run is chosen. */
function build(page: HTMLElement, data: Data): void {
  let shown = new AbortController();
  let chosen = 0;
  let other = data.runs.length > 1 ? 1 : -1;
  let open: (hash: string) => void = () => undefined;

  const show = (): void => {
    shown.abort();
    shown = new AbortController();
    const run = data.runs[chosen]!;
    const made = sections({ data, run, other: data.runs[other] ?? null, signal: shown.signal });
    open = made.open;
    document.title = `${verdictName(run.report)}: ${run.report.run.name} – tfadvisor`;
    replaceChildren(page, h("a", { class: "skip", href: "#verdict" }, "Skip to the verdict"), header(run, picker()), h("div", { class: "frame" }, contents(made.list), h("main", null, ...made.list.map((one) => one.element))), footer(run));
    follow(made.list, shown.signal);
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
  show();
  addEventListener("hashchange", () => { open(location.hash); });
  open(location.hash);
}

function sections(given: Omit<View, "links">): { list: Section[]; open: (hash: string) => void } {
  const view: View = { ...given, links: { showTimeline: (host, index, kind) => drawn.show(host, index, kind) } };
  const advice = findings(view);
  const drawn = timeline(view);
  const each = steps(view);
  const list = [verdict(view), compare(view), advice, each, drawn, ops(view), collectives(view), devices(view), input(view), metrics(view), capture(view), notApplicable(view)];
  return {
    list: list.filter((one) => one !== null),
    open: (hash) => {
      const wanted = new URLSearchParams(hash.replace(/^#/, ""));
      const finding = wanted.get("finding");
      if (finding !== null) advice.open(finding);
    },
  };
}

function header({ report }: Run, picker: HTMLElement | null): HTMLElement {
  const { run } = report;
  const framework = [FRAMEWORKS[run.framework] ?? "", run.framework_version ?? ""].join(" ").trim();
  const hosts = run.hosts.length > 1 ? `${run.hosts.length} hosts` : (run.hosts[0] ?? "");
  const captured = run.captured_at === null ? "" : run.captured_at.replace("T", " ").replace(/(:\d\d)(\.\d+)?(\+00:00|Z)$/, "$1 UTC");
  return h("header", { class: "top" },
    h("div", { class: "top-line" }, h("p", { class: "product" }, "tfadvisor"), picker, themeButton()),
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

function contents(list: Section[]): HTMLElement {
  return h("nav", { class: "contents", "aria-label": "Sections" }, h("ul", null, ...list.map((one) => h("li", null, h("a", { href: `#${one.id}` }, one.title, one.note === undefined || one.note === "" ? null : h("span", { class: "note" }, one.note))))));
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

function footer({ report }: Run): HTMLElement {
  return h("footer", { class: "dim small" }, `${report.tool.name} ${report.tool.version}, report schema ${report.schema_version}. This page holds all of its data and asks no network for anything.`);
}

start();
