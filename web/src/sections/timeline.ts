/** The steps of each host by device, stream and thread, or one step of all hosts; by pointer, keys, or as a table. */
import { KINDS, MEANING, type Kind } from "../data/classes.js";
import { markedFindings, type Marked } from "../data/marked_findings.js";
import type { DrawnStep, PageData } from "../data/generated.js";
import { h, replaceChildren, safeAddress } from "../dom.js";
import { swatch } from "../parts/bar.js";
import { asTable, empty, labelled, section, select, smallTable, unfold, type Section, type View } from "../parts/section.js";
import { THEME_CHANGED, palette } from "../parts/theme.js";
import { save } from "../parts/csv.js";
import { virtualTable } from "../parts/virtual_table.js";
import { whenIdle } from "../parts/idle.js";
import { PRINTS } from "../parts/print.js";
import { criticalPath, summed, withPath, type Link } from "../timeline/critical_path.js";
import { together } from "../timeline/hosts_together.js";
import { OpRows, launchFacts } from "../data/op_rows.js";
import { texts } from "../data/read.js";
import { EveryStep } from "../data/every_step.js";
import { StepTable, lateHost } from "../data/steps.js";
import { Zoom, zoomDrag, zoomKey, zoomWheel } from "../parts/zoom.js";
import { zoomButtons } from "../parts/zoom_buttons.js";
import { toThePixel } from "../timeline/axis.js";
import { AXIS, draw } from "../timeline/draw.js";
import { Layout, ROW, laneTitle } from "../timeline/layout.js";
import { fileName, openInPerfetto, traceEvents } from "../timeline/perfetto.js";
import { beside, byClass, byName, type Sum } from "../timeline/range.js";
import { count, duration, percent, plural } from "../words.js";

const TALLEST = 520;
const LEAST_NS = 100;
const SLACK_PX = 3;
const MOST_ON_PATH = 40;
const MOST_BESIDE = 8;
const MOST_SUMS = 16;
const MOST_ARROWS = 200;
/** A found event is at least this part of the window. */
const SEEN = 1 / 60;
/** The ends of a stretch are given to a thousandth of it. */
const DIGITS = 1000;

export interface TimelineSection extends Section {
  /** host "": any. index: of the step, null for the one that is shown. */
  show: (host: string, index: number | null, kinds: readonly Kind[] | null) => boolean;
}

export function timeline(view: View): TimelineSection {
  const drawn = view.run.drawn;
  if (drawn.length === 0) {
    return { ...section("timeline", "Timeline", "", empty("This trace holds no step to draw.")), show: () => false };
  }
  const marked = markedFindings(view.run.report);
  const stage = new Stage(view.signal, marked, view.run);
  const every = new EveryStep(view.run, view.links.loadStep);
  const steps = new StepTable(view.run);
  const table = h("div");
  const path = h("div");
  const about = h("p", { class: "dim small" });
  const several = steps.hosts.length > 1;
  /** Opens on the host that a verdict of imbalance is about, among all of them. */
  const late = several && view.run.report.verdict.bottleneck === "imbalance" ? lateHost(steps, drawn[0]!.index) : "";
  const first = drawn.find((one) => one.host === late) ?? drawn[0]!;
  const state = { host: first.host, index: first.index };
  const words = h("p", { class: "caveat", role: "status", hidden: true });
  const hostChoice = select([...steps.hosts, ...(several ? ["All hosts, the late one first"] : [])], Math.max(steps.hosts.indexOf(state.host), 0), (place) => { void choose(steps.hosts[place] ?? "", state.index); });
  const stepChoice = h("select", { on: { change: () => { void choose(state.host, Number(stepChoice.value)); } } });
  const whole = h("button", { type: "button", hidden: !every.canLoad, title: "Reads the trace again", on: { click: () => { void choose(state.host, state.index, true); } } }, "With every thread");
  const find = finder(stage);
  const legend = kindButtons(stage);
  const findings = findingButtons(stage, marked, () => { legend.update(); });
  stage.onHighlight = () => {
    legend.update();
    findings.update();
  };

  const listSteps = (): void => {
    const host = state.host === "" ? first.host : state.host;
    const rows = steps.of(host);
    const which = new Map(drawn.filter((one) => one.host === host).map((one) => [one.index, one.which]));
    const named = new Set([...which].filter(([, kind]) => kind !== "other").map(([index]) => index));
    const rowOf = new Map(rows.map((row) => [steps.index(row), row]));
    const rest = [...rowOf.keys()].filter((index) => !named.has(index));
    const option = (index: number): HTMLElement => {
      const row = rowOf.get(index);
      const length = row === undefined ? (drawn.find((one) => one.index === index)?.span_ns ?? 0) / 1e6 : steps.duration(row);
      const kind = which.get(index);
      return h("option", { value: index, selected: index === state.index }, `${kind === "median" ? "Median: " : kind === "worst" ? "Worst: " : ""}${row === undefined ? `step ${index}` : steps.name(row)}, ${duration(length)}`);
    };
    replaceChildren(stepChoice, ...[...named, ...rest].map(option));
    hostChoice.selectedIndex = state.host === "" ? steps.hosts.length : Math.max(steps.hosts.indexOf(state.host), 0);
    whole.hidden = !every.canLoad || state.host === "";
  };
  const use = (step: DrawnStep, hostsOf: number[] | null): void => {
    const links = criticalPath(step, hostsOf);
    stage.use(links.length > 0 ? withPath(step, links) : step);
    find.again();
    about.textContent = aboutStep(step, hostsOf === null ? view.run.hosts_left_out : 0);
    replaceChildren(path, links.length === 0 ? null : asTable("Critical path of this step", () => pathTable(links, view.run.short_names)));
    replaceChildren(table, asTable("Events as a table, the longest first", () => eventTable(stage, view.signal)));
    legend.update();
    findings.update();
  };
  let asked = 0;
  /** host "": all. withAll: every thread of it, by a server. */
  const choose = async (host: string, index: number, withAll = false): Promise<void> => {
    const mine = asked += 1;
    if (host !== "" && steps.rows > 0 && steps.find(host, index) < 0) index = drawn.find((one) => one.host === host)?.index ?? steps.index(steps.of(host)[0] ?? 0);
    Object.assign(state, { host, index });
    listSteps();
    words.hidden = true;
    stage.element.setAttribute("aria-busy", "true");
    try {
      const wanted = host === "" ? lateFirst(steps, index) : [host];
      const made = await Promise.all(wanted.map((one) => (withAll ? every.whole(one, index) : every.get(one, index))));
      if (mine !== asked) return;
      const known = made.filter((one) => one !== null);
      if (known.length > 0) {
        const all = host === "" ? together(known, lateHost(steps, index)) : null;
        use(all?.step ?? known[0]!, all?.hosts ?? null);
      }
      if (known.length < wanted.length) {
        words.hidden = false;
        words.textContent = `This file does not hold step ${index}${known.length > 0 ? ` of ${wanted.length - known.length} hosts` : ""}, to stay small. The tab in TensorBoard draws every step, and so does: tfadvisor export RUN --to perfetto`;
      }
    } catch (error) {
      if (mine !== asked || view.signal.aborted) return;
      words.hidden = false;
      words.textContent = `Step ${index} cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      if (mine === asked) stage.element.removeAttribute("aria-busy");
    }
  };
  const made = section(
    "timeline",
    "Timeline",
    "",
    h("div", { class: "toolbar" }, several ? labelled("Host", hostChoice) : null, labelled("Step", stepChoice), whole, zoomButtons(() => stage.zoom, () => { stage.redraw(); }), find.element,
      h("button", { type: "button", title: "Sums by class and by name of the time in view (r); dragging along the ruler chooses any other time", on: { click: () => { stage.measure(stage.zoom.from, stage.zoom.to); } } }, "Sum what is in view"),
      perfetto(stage), momentLink(view, stage, state), viewerLink(view, () => state.host)),
    words,
    legend.element,
    findings.element,
    stage.element,
    stage.sums,
    stage.panel,
    about,
    h("div", { class: "abreast" }, path, table, help()),
  );
  listSteps();
  const moment = momentOf(location.hash);
  if (moment !== null) {
    void choose(moment.host, moment.index).then(() => {
      stage.zoom.show(moment.from, moment.to);
      stage.redraw();
      unfold(made.element);
      made.element.scrollIntoView({ block: "start" });
    });
  } else void choose(late === "" ? first.host : "", state.index);
  return {
    ...made,
    show: (host, index, kinds) => {
      if (index !== null) void choose(host, index);
      stage.highlight = kinds;
      stage.onHighlight();
      stage.redraw();
      unfold(made.element);
      made.element.scrollIntoView({ block: "start" });
      stage.scroller.focus({ preventScroll: true });
      return true;
    },
  };
}

/** A stretch of one step, as an address has it. ns. */
export interface Moment {
  /** "": all. */
  host: string;
  index: number;
  from: number;
  to: number;
}

/** `#moment=host,3,1200,5400`; null for any other. */
export function momentOf(hash: string): Moment | null {
  const found = /^#moment=([^,]*),(\d{1,9}),(\d{1,15}),(\d{1,15})$/.exec(hash);
  if (found === null) return null;
  const [from, to] = [Number(found[3]), Number(found[4])];
  return to > from ? { host: decoded(found[1]!), index: Number(found[2]), from, to } : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function momentHash({ host, index, from, to }: Moment): string {
  return `#moment=${encodeURIComponent(host)},${index},${Math.floor(from)},${Math.ceil(to)}`;
}

/** Puts what is in view into the page's address; in a tab of a server the address is the server's. */
function momentLink(view: View, stage: Stage, state: { host: string; index: number }): HTMLElement | null {
  if (view.links.loadStep !== null) return null;
  const words = h("span", { "aria-live": "polite" }, "Link to this view");
  return h("button", { type: "button", class: "quiet", title: "The page's address then leads to this stretch of this step", on: { click: () => {
    history.replaceState(null, "", momentHash({ ...state, from: stage.zoom.from, to: stage.zoom.to }));
    words.textContent = "It is in the address now";
  } } }, words);
}

function lateFirst(steps: StepTable, index: number): string[] {
  const late = lateHost(steps, index);
  const length = (host: string): number => steps.duration(steps.find(host, index));
  return steps.hosts.filter((host) => steps.find(host, index) >= 0).sort((a, b) => Number(b === late) - Number(a === late) || length(b) - length(a));
}

function pathTable(links: Link[], short: Record<string, string>): HTMLElement {
  const total = links.reduce((sum, link) => sum + link.end - link.start, 0);
  const rows = summed(links).slice(0, MOST_ON_PATH);
  return h("div", null,
    h("p", { class: "dim small" }, "From the end of the step back to what held up each thing: the device's op while it works, the driving thread while it waits, the device that arrives last while it waits in a collective. Only what is listed here can shorten the step."),
    smallTable("Critical path", [{ title: "Class" }, { title: "What" }, { title: "Time", number: true }, { title: "Of the step", number: true }, { title: "Events", number: true }],
      rows.map((one) => [h("span", null, swatch(one.kind), one.kind), one.name === "" ? "not named" : h("code", { title: one.name.slice(0, 400) }, (short[one.name] ?? one.name).slice(0, 200)), duration(one.ns / 1e6), percent(one.ns / Math.max(total, 1)), count(one.times)])));
}

function aboutStep(step: DrawnStep, hostsLeftOut: number): string {
  const merged = step.block_events.reduce((sum, one) => sum + one, 0);
  const deeper = step.lanes.reduce((sum, lane) => sum + lane.deeper, 0);
  return [
    merged > 0 ? `${count(merged)} short events are drawn as ${plural(step.block.length, "block")}, the paler the less of its time they fill.` : "",
    deeper > 0 ? `${plural(deeper, "event")} nested more than 16 deep ${deeper === 1 ? "is" : "are"} not drawn.` : "",
    step.threads_left_out > 0 ? `${plural(step.threads_left_out, "less busy thread")} left out.` : "",
    hostsLeftOut > 0 ? `${plural(hostsLeftOut, "more host")} left out to keep the page light.` : "",
  ].filter((one) => one !== "").join(" ");
}

function help(): HTMLElement {
  return asTable("Pointer and keys", () => h("p", { class: "dim small" }, "Underlines mark the time of findings, by number. Ctrl and wheel zoom, drag or Shift and wheel pan, dragging along the ruler chooses a time. Keys: arrows choose events, + − zoom, a d pan, Enter zooms to the event, n N go to the next match and the one before, m and r sum the event's time and what is in view, 0 shows all."));
}

function viewerLink(view: View, host: () => string): HTMLElement | null {
  const address = view.data.trace_viewer;
  if (address === null) return null;
  const link = h("a", { class: "small", target: "_blank", rel: "noopener" }, "Open in XProf's trace viewer");
  const update = (): void => {
    const filled = address.replaceAll("{run}", encodeURIComponent(view.run.report.run.name)).replaceAll("{host}", encodeURIComponent(host() || (view.run.drawn[0]?.host ?? "")));
    link.setAttribute("href", safeAddress(filled));
  };
  update();
  for (const event of ["pointerenter", "focus"]) link.addEventListener(event, update);
  return link;
}

/** A search with its number of matches, and buttons that go from one to the next. */
function finder(stage: Stage): { element: HTMLElement; again: () => void } {
  const found = h("span", { class: "dim small", "aria-live": "polite" });
  const search = h("input", { type: "search", placeholder: "Find events", "aria-label": "Find events in the timeline" });
  const go = (by: 1 | -1): void => { stage.toMatch(by); };
  const button = (sign: string, about: string, by: 1 | -1): HTMLElement => h("button", { type: "button", "aria-label": about, title: about, on: { click: () => { go(by); } } }, sign);
  search.addEventListener("input", () => {
    stage.find(search.value);
    stage.toFirstMatch();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  });
  stage.onMatch = (place, all) => { found.textContent = all === null ? "" : place < 0 ? plural(all, "match", "matches") : `${count(place + 1)} of ${plural(all, "match", "matches")}`; };
  return {
    element: h("span", { class: "finder" }, search, h("span", { class: "buttons" }, button("‹", "Match before (Shift and Enter)", -1), button("›", "Next match (Enter)", 1)), found),
    again: () => { stage.find(search.value); },
  };
}

/** To Perfetto's page by a click, or as a file where there is no network. */
function perfetto(stage: Stage): HTMLElement {
  const said = h("span", { class: "dim small", "aria-live": "polite" });
  const keep = (): void => { save(fileName(stage.layout.step), traceEvents(stage.layout.step), "application/json"); };
  const open = async (): Promise<void> => {
    said.textContent = "Waiting for ui.perfetto.dev…";
    if (await openInPerfetto(stage.layout.step)) said.textContent = "";
    else {
      keep();
      said.textContent = `ui.perfetto.dev did not answer: ${fileName(stage.layout.step)} is saved. Open it there, or in any copy of Perfetto, by Open trace file.`;
    }
  };
  return h("span", { class: "finder" },
    h("button", { type: "button", title: "Opens ui.perfetto.dev and hands it this step, which it reads inside the browser", on: { click: () => { void open(); } } }, "Open in Perfetto"),
    h("button", { type: "button", class: "quiet", title: "For Perfetto without a network: this step as a file. tfadvisor export RUN --to perfetto writes the whole run.", on: { click: keep } }, "Save for Perfetto"),
    said);
}

function isOnly(highlight: readonly Kind[] | null, kind: Kind): boolean {
  return highlight?.length === 1 && highlight[0] === kind;
}

/** One button a class in the picture; pressed, it alone stands out. */
function kindButtons(stage: Stage): { element: HTMLElement; update: () => void } {
  const element = h("div", { class: "kinds", role: "group", "aria-label": "Highlight" });
  const update = (): void => {
    const used = new Set(stage.layout.step.kind);
    const shown = KINDS.filter((_, code) => used.has(code));
    replaceChildren(element, ...shown.map((kind) =>
      h("button", { type: "button", class: "kind", title: MEANING[kind], "aria-pressed": stage.highlight?.includes(kind) === true ? "true" : "false", on: { click: () => {
        stage.highlight = isOnly(stage.highlight, kind) ? null : [kind];
        stage.redraw();
        stage.onHighlight();
        element.querySelectorAll("button")[shown.indexOf(kind)]?.focus();
      } } }, swatch(kind), kind)));
  };
  return { element, update };
}

/** One button a finding whose time is in the picture; pressed, that time alone stands out. */
function findingButtons(stage: Stage, marked: Marked[], onPress: () => void): { element: HTMLElement; update: () => void } {
  const element = h("div", { class: "kinds marked", role: "group", "aria-label": "Findings in this step" });
  let pressed: Marked | null = null;
  const update = (): void => {
    const used = new Set(stage.layout.step.kind);
    const shown = marked.filter((one) => one.kinds.some((kind) => used.has(KINDS.indexOf(kind))));
    if (pressed?.kinds !== stage.highlight) pressed = null;
    element.hidden = shown.length === 0;
    replaceChildren(element, h("span", { class: "dim small" }, "Findings"), ...shown.map((one) =>
      h("button", { type: "button", class: "kind", title: one.summary, "aria-pressed": pressed === one ? "true" : "false", on: { click: () => {
        pressed = pressed === one ? null : one;
        stage.highlight = pressed === null ? null : one.kinds;
        stage.redraw();
        onPress();
        update();
        element.querySelectorAll("button")[shown.indexOf(one)]?.focus();
      } } }, ...one.kinds.map(swatch), h("span", { class: "marked-title" }, `${one.number}. ${one.title}`))));
  };
  return { element, update };
}

function eventTable(stage: Stage, signal: AbortSignal): HTMLElement {
  const { layout } = stage;
  const { step } = layout;
  const lane = step.lanes.map(laneTitle);
  return virtualTable({
    label: "Events of the step",
    rows: step.start.length,
    sortBy: "length",
    height: 384,
    signal,
    onChoose: (event) => { stage.choose(event, true); },
    columns: [
      { id: "name", title: "Event", width: "minmax(120px, 3fr)", value: (row) => layout.name(row), cell: (row) => h("span", { title: layout.name(row).slice(0, 400) }, swatch(layout.kind(row)), layout.name(row).slice(0, 200)) },
      { id: "lane", title: "Where", width: "minmax(96px, 2fr)", from: 640, value: (row) => lane[step.lane[row]!]!, cell: (row) => lane[step.lane[row]!]! },
      { id: "start", title: "Start", width: "88px", number: true, from: 420, value: (row) => step.start[row]!, cell: (row) => duration(step.start[row]! / 1e6) },
      { id: "length", title: "Length", width: "88px", number: true, value: (row) => step.length[row]!, cell: (row) => duration(step.length[row]! / 1e6) },
    ],
  }).element;
}

/** Before the first step is unpacked. */
const NOTHING: DrawnStep = {
  host: "", which: "other", index: 0, at_ns: null, span_ns: 1, lanes: [], names: [], threads_left_out: 0,
  lane: [], depth: [], start: [], length: [], kind: [], name: [], launch: [], block: [], block_events: [], block_busy: [],
};

/** The canvas with its window, its choice, and the words about what is chosen. */
class Stage {
  layout = new Layout(NOTHING);
  zoom = new Zoom(1, 1);
  highlight: readonly Kind[] | null = null;
  /** Called when a key or another part of the page has changed what is highlighted. */
  onHighlight: () => void = () => undefined;
  /** Called when matches have changed: which one is shown, -1 for none, and how many there are, null without a search. */
  onMatch: (place: number, all: number | null) => void = () => undefined;
  readonly scroller = h("div", { class: "timeline", tabindex: 0, role: "application", "aria-label": "Timeline of a step. Arrows choose events, plus and minus zoom, a and d pan, n goes to the next match, m sums what happens during the event, 0 shows all. The table below lists the same events." });
  readonly panel = h("div", { class: "panel event-panel", "aria-live": "polite" });
  /** Of the chosen stretch of time. */
  readonly sums = h("div", { class: "panel", "aria-live": "polite", hidden: true });
  readonly element: HTMLElement;
  /** The rows of the table of ops, for the names of events. */
  readonly ops: OpRows;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly space = h("div", { class: "timeline-space" });
  private readonly tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  private readonly cursor = h("div", { class: "cursor", hidden: true, "aria-hidden": "true" });
  private chosen: number | null = null;
  /** From calls to what they launched, of the chosen event. */
  private arrows: [number, number][] = [];
  private range: readonly [number, number] | null = null;
  private matches: Set<number> | null = null;
  /** The same, by start; and which of them is shown. */
  private inOrder: number[] = [];
  private match = -1;
  private waiting = false;
  private inView = false;

  constructor(signal: AbortSignal, private readonly marked: Marked[], readonly run: PageData) {
    this.ops = new OpRows(run);
    this.space.append(this.canvas);
    this.scroller.append(this.space);
    this.element = h("div", { class: "timeline-frame" }, this.scroller, this.cursor, this.tip);
    const ruler = this.rulerDrag();
    const drag = zoomDrag(this.scroller, () => this.zoom, () => this.width, () => { this.redraw(); }, (event) => this.isOnRuler(event));
    this.scroller.addEventListener("scroll", () => { this.redraw(); }, { passive: true });
    this.scroller.addEventListener("wheel", (event) => { if (zoomWheel(this.zoom, event, this.timeAt(event))) this.redraw(); }, { passive: false });
    this.scroller.addEventListener("click", (event) => { if (!drag.moved() && !ruler.moved()) this.choose(this.pointedAt(event), false); });
    this.scroller.addEventListener("dblclick", (event) => { this.zoomTo(this.pointedAt(event)); });
    this.scroller.addEventListener("keydown", (event) => { if (this.key(event)) event.preventDefault(); });
    this.scroller.addEventListener("pointermove", (event) => { this.hover(event); });
    this.scroller.addEventListener("pointerleave", () => { this.tip.hidden = this.cursor.hidden = true; });
    const sized = new ResizeObserver(() => { this.redraw(); });
    sized.observe(this.scroller);
    const seen = new IntersectionObserver((entries) => {
      this.inView = entries.some((entry) => entry.isIntersecting);
      this.redraw();
    }, { rootMargin: "200px" });
    seen.observe(this.scroller);
    whenIdle(() => { this.paint(); }, signal);
    document.addEventListener(THEME_CHANGED, () => { this.redraw(); }, { signal });
    document.addEventListener(PRINTS, () => { this.paint(); }, { signal });
    signal.addEventListener("abort", () => {
      sized.disconnect();
      seen.disconnect();
    });
  }

  use(step: DrawnStep): void {
    this.layout = new Layout(step, this.run.short_names);
    this.zoom = new Zoom(step.span_ns, Math.min(LEAST_NS, step.span_ns));
    this.chosen = null;
    this.arrows = [];
    this.measure(0, 0);
    const tall = Math.min(this.layout.height + AXIS, TALLEST);
    this.scroller.style.height = `${tall}px`;
    this.space.style.height = `${this.layout.height + AXIS}px`;
    this.scroller.scrollTop = 0;
    replaceChildren(this.panel, h("p", { class: "dim" }, "Choose an event to see its details."));
    this.redraw();
  }

  /** Marks the events whose names, or whose op's, hold the text: recorded ones, where there are any, and not what the rows above them sum up. */
  find(text: string): void {
    const wanted = text.trim().toLowerCase();
    const { step } = this.layout;
    const names = step.names.map((name) => `${name} ${this.ops.called(name)}`.toLowerCase().includes(wanted));
    const named = wanted === "" ? [] : step.name.flatMap((name, event) => (names[name] === true ? [event] : [])).sort((a, b) => step.start[a]! - step.start[b]! || a - b);
    const recorded = named.filter((event) => step.lanes[step.lane[event]!]!.role !== "classes");
    this.inOrder = recorded.length > 0 ? recorded : named;
    this.matches = wanted === "" ? null : new Set(this.inOrder);
    this.match = -1;
    this.onMatch(-1, this.matches?.size ?? null);
    this.redraw();
  }

  /** The first one that ends in the window or later, unless one is in it already. */
  toFirstMatch(): void {
    const { step } = this.layout;
    const after = this.inOrder.findIndex((event) => step.start[event]! + step.length[event]! >= this.zoom.from);
    if (this.inOrder.length > 0) this.showMatch(Math.max(after, 0));
  }

  toMatch(by: 1 | -1): void {
    const all = this.inOrder.length;
    if (all > 0) this.showMatch((this.match + by + all) % all);
  }

  private showMatch(place: number): void {
    this.match = place;
    const event = this.inOrder[place]!;
    const length = this.layout.step.length[event]!;
    if (length < SEEN * this.zoom.width) {
      const width = Math.max(length, 1) / SEEN;
      const middle = this.layout.step.start[event]! + length / 2;
      this.zoom.show(middle - width / 2, middle + width / 2);
    }
    this.choose(event, true);
    this.onMatch(place, this.inOrder.length);
  }

  /** Chooses a stretch of time and tells its sums; an empty one chooses none. ns. */
  measure(from: number, to: number): void {
    this.range = to > from ? [from, to] : null;
    this.sums.hidden = this.range === null;
    replaceChildren(this.sums, ...(this.range === null ? [] : sumWords(this, from, to)));
    this.redraw();
  }

  choose(event: number | null, reveal: boolean): void {
    if (event === null) return;
    this.chosen = event;
    const { step } = this.layout;
    if (reveal) {
      this.zoom.reveal(step.start[event]!, step.start[event]! + step.length[event]!);
      const top = this.layout.rows[this.layout.rowOf(event)]?.top ?? 0;
      const view = this.scroller;
      if (top < view.scrollTop) view.scrollTop = top - ROW;
      if (top + ROW + AXIS > view.scrollTop + view.clientHeight) view.scrollTop = top + 2 * ROW + AXIS - view.clientHeight;
    }
    const launches = this.layout.launches(event);
    this.arrows = launches.slice(0, MOST_ARROWS);
    replaceChildren(this.panel, ...eventWords(this, event, this.marked, launches));
    this.redraw();
  }

  /** In the next frame; out of view not before it comes into view. */
  redraw(): void {
    if (this.waiting || !this.inView) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  private paint(): void {
    const [width, height] = [this.width, this.scroller.clientHeight];
    if (width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, { layout: this.layout, zoom: this.zoom, colours: palette(), width, height, scrolled: this.scroller.scrollTop, highlight: this.highlight, matches: this.matches, chosen: this.chosen, arrows: this.arrows, range: this.range, marks: marksOf(this.marked) });
  }

  private get width(): number {
    return this.scroller.clientWidth;
  }

  private timeAt(event: MouseEvent): number {
    return this.zoom.from + ((event.clientX - this.scroller.getBoundingClientRect().left) / this.width) * this.zoom.width;
  }

  private pointedAt(event: MouseEvent): number | null {
    const y = event.clientY - this.scroller.getBoundingClientRect().top;
    const row = y < AXIS ? null : this.layout.rowAt(y - AXIS + this.scroller.scrollTop);
    return row === null ? null : this.layout.eventAt(row, this.timeAt(event), (SLACK_PX / this.width) * this.zoom.width);
  }

  private isOnRuler(event: MouseEvent): boolean {
    return event.clientY - this.scroller.getBoundingClientRect().top < AXIS;
  }

  /** Dragging along the ruler chooses the time between; a click there chooses none. */
  private rulerDrag(): { moved: () => boolean } {
    let from: number | null = null;
    let moved = false;
    this.scroller.addEventListener("pointerdown", (event) => {
      moved = event.button === 0 && this.isOnRuler(event);
      if (!moved) return;
      from = this.timeAt(event);
      this.scroller.setPointerCapture(event.pointerId);
    });
    this.scroller.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const time = Math.min(Math.max(this.timeAt(event), 0), this.zoom.whole);
      this.range = [Math.min(from, time), Math.max(from, time)];
      this.redraw();
    });
    this.scroller.addEventListener("pointerup", () => {
      if (from !== null) this.measure(...(this.range ?? [0, 0]));
      from = null;
    });
    this.scroller.addEventListener("pointercancel", () => { from = null; });
    return { moved: () => moved };
  }

  private hover(pointer: PointerEvent): void {
    const box = this.element.getBoundingClientRect();
    this.cursor.hidden = false;
    this.cursor.textContent = toThePixel(this.timeAt(pointer), this.zoom.width / this.width);
    this.cursor.style.transform = `translateX(${pointer.clientX - box.left}px)`;
    const event = this.pointedAt(pointer);
    this.tip.hidden = event === null;
    if (event === null) return;
    const { step } = this.layout;
    replaceChildren(this.tip, h("strong", null, this.layout.name(event).slice(0, 160)), h("span", null, `${duration(step.length[event]! / 1e6)}, ${this.layout.kind(event)}`));
    const left = Math.min(pointer.clientX - box.left + 12, box.width - this.tip.offsetWidth - 8);
    this.tip.style.transform = `translate(${Math.max(left, 0)}px, ${pointer.clientY - box.top + 16}px)`;
  }

  private zoomTo(event: number | null): void {
    if (event === null) return;
    const { step } = this.layout;
    const pad = step.length[event]! * 0.1;
    this.zoom.show(step.start[event]! - pad, step.start[event]! + step.length[event]! + pad);
    this.choose(event, false);
  }

  private key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "Enter") this.zoomTo(this.chosen);
    else if (event.key === "Escape") {
      this.highlight = null;
      this.onHighlight();
      this.measure(0, 0);
    } else if (event.key === "n" || event.key === "N") this.toMatch(event.key === "n" ? 1 : -1);
    else if (event.key === "r") this.measure(this.zoom.from, this.zoom.to);
    else if (event.key === "m") this.measureChosen();
    else if (event.key.startsWith("Arrow")) this.step(event.key);
    else if (zoomKey(this.zoom, event.key)) this.redraw();
    else return false;
    return true;
  }

  measureChosen(): void {
    const { step } = this.layout;
    if (this.chosen !== null) this.measure(step.start[this.chosen]!, step.start[this.chosen]! + step.length[this.chosen]!);
  }

  /** To the next event of the row, or to the event at the same time in the next row. */
  private step(key: string): void {
    const { rows, step } = this.layout;
    if (rows.length === 0) return;
    if (this.chosen === null) {
      this.choose(this.layout.firstAfter(rows[0]!, this.zoom.from), true);
      return;
    }
    const place = this.layout.rowOf(this.chosen);
    const row = rows[place]!;
    if (key === "ArrowLeft") this.choose(Math.max(this.chosen - 1, row.from), true);
    else if (key === "ArrowRight") this.choose(Math.min(this.chosen + 1, row.to - 1), true);
    else {
      const next = rows[place + (key === "ArrowDown" ? 1 : -1)];
      if (next === undefined) return;
      const middle = step.start[this.chosen]! + step.length[this.chosen]! / 2;
      this.choose(Math.min(this.layout.firstAfter(next, middle), next.to - 1), true);
    }
  }
}

/** `1 3`, the numbers of the findings about each class. */
function marksOf(marked: Marked[]): Map<Kind, string> {
  const found = new Map<Kind, string>();
  for (const one of marked) for (const kind of one.kinds) found.set(kind, `${found.get(kind) ?? ""} ${one.number}`.trim());
  return found;
}

/** A stretch of time: what it holds, by class and by name. */
function sumWords(stage: Stage, from: number, to: number): HTMLElement[] {
  const { layout } = stage;
  const classes = byClass(layout, from, to);
  const several = new Set(classes.map((one) => one.of)).size > 1;
  const names = byName(layout, from, to);
  return [
    h("div", { class: "panel-head" },
      h("h3", null, `${duration((to - from) / 1e6)} chosen`),
      h("p", { class: "dim" }, `from ${toThePixel(from, (to - from) / DIGITS)} to ${toThePixel(to, (to - from) / DIGITS)} into the step`),
      h("button", { type: "button", on: { click: () => { stage.zoom.show(from, to); stage.redraw(); } } }, "Zoom to it"),
      h("button", { type: "button", on: { click: () => { stage.measure(0, 0); } } }, "Clear")),
    sumTable("By class", stage, classes, to - from, several ? "Device" : null),
    names.length === 0 ? h("p", { class: "dim" }, "No named event is in this time.") : sumTable("By name", stage, names, to - from, "Where"),
  ];
}

/** whole: what shares are of, ns. of: the title of what tells where, null without it. */
function sumTable(label: string, stage: Stage, sums: Sum[], whole: number, of: string | null): HTMLElement {
  const shown = sums.slice(0, MOST_SUMS);
  return h("div", null,
    smallTable(label, [{ title: label }, ...(of === null ? [] : [{ title: of }]), { title: "Time", number: true }, { title: "Share", number: true }, { title: "Events", number: true }],
      shown.map((one) => [
        h("span", null, swatch(one.kind), h("button", { type: "button", class: "quiet name", title: one.name.slice(0, 400), on: { click: () => { stage.choose(one.event, true); } } }, one.name.slice(0, 120))),
        ...(of === null ? [] : [one.of]),
        duration(one.ns / 1e6),
        percent(one.ns / Math.max(whole, 1)),
        count(one.times),
      ])),
    sums.length > shown.length ? h("p", { class: "dim small" }, `${plural(sums.length - shown.length, "smaller one")} left out.`) : null);
}

function eventWords(stage: Stage, event: number, marked: Marked[], launches: [call: number, launched: number][]): (HTMLElement | null)[] {
  const { layout } = stage;
  const { step } = layout;
  const others = step.lanes[step.lane[event]!]!.role === "classes" ? [] : beside(layout, event).slice(0, MOST_BESIDE);
  const lane = step.lanes[step.lane[event]!]!;
  const kind = layout.kind(event);
  const block = layout.block(event);
  const length = step.length[event]!;
  const name = layout.name(event);
  return [
    h("p", { class: "event-name" }, swatch(kind), h("code", null, block === null ? name : `${plural(block.events, "event")} drawn as one block`)),
    h("dl", { class: "facts" },
      fact("class", `${kind}: ${MEANING[kind]}`),
      fact("where", laneTitle(lane)),
      fact("length", `${duration(length / 1e6)}, ${percent(length / Math.max(step.span_ns, 1))} of the step`),
      fact("start", `${duration(step.start[event]! / 1e6)} into the step`),
      block === null ? null : fact("busy", `${duration(block.busy / 1e6)} of that`),
      ...(lane.role === "classes" ? marked.filter((one) => one.kinds.some((claimed) => claimed === kind)).map((one) => h("div", null, h("dt", null, `finding ${one.number}`), h("dd", null, h("a", { href: `#finding=${encodeURIComponent(one.id)}` }, one.title)))) : []),
      launchWords(stage, event, launches),
      lane.around.length === 0 ? null : fact("inside", lane.around.join(" › "))),
    lane.role === "stream" && block === null ? kernels(stage, name) : null,
    others.length === 0 ? null : sumTable("Runs beside it", stage, others, length, "Where"),
  ];
}

/** The other end of the arrows, by a button. */
function launchWords(stage: Stage, event: number, launches: [call: number, launched: number][]): HTMLElement | null {
  const [first] = launches;
  if (first === undefined) return null;
  const [call, launched] = first;
  const { start, length } = stage.layout.step;
  const isLaunched = launched === event;
  const other = isLaunched ? call : launched;
  const later = start[launched]! - start[call]! - length[call]!;
  const when = later < 0 ? "begins before that call is over" : `begins ${duration(later / 1e6)} after that call`;
  const words = isLaunched ? when : `${launches.length > 1 ? `and ${plural(launches.length - 1, "more", "more")}; the first ` : ""}${when}`;
  return h("div", null, h("dt", null, isLaunched ? "launched by" : "launches"),
    h("dd", null, h("button", { type: "button", class: "quiet name", on: { click: () => { stage.choose(other, true); } } }, stage.layout.name(other).slice(0, 120)), ` ${words}`));
}

/** What the device runs for an op of this name and how it is launched; null where the table of ops tells no more than the name. */
function kernels({ ops, run: { ops: columns, short_names: short } }: Stage, name: string): HTMLElement | null {
  const rows = ops.of(name).slice(0, MOST_BESIDE);
  const [kernel, precision] = [texts(columns.kernel), texts(columns.precision)];
  const told = rows.map((row) => ({
    kernel: kernel[row] ?? "",
    each: (columns.ms_per_step[row] ?? 0) / Math.max(columns.count_per_step[row] ?? 0, 1e-9),
    facts: [...(typeof precision[row] === "string" ? [["precision", precision[row]] as [string, string]] : []), ...launchFacts(columns, row)],
  }));
  if (!told.some((one) => one.facts.length > 0 || (short[one.kernel] ?? one.kernel) !== name)) return null;
  return smallTable("Kernels of this name", [{ title: "Kernel" }, { title: "Mean length", number: true }, { title: "Launched with" }],
    told.map((one) => [h("code", { title: one.kernel.slice(0, 400) }, (short[one.kernel] ?? one.kernel).slice(0, 120)), duration(one.each), one.facts.map(([title, value]) => `${title} ${value}`).join(", ") || "–"]));
}

function fact(name: string, value: string): HTMLElement {
  return h("div", null, h("dt", null, name), h("dd", null, value));
}
