/** The tab: lists runs, loads the chosen one and the one to compare it with, and keeps an eye on the logdir. */
import { FORMAT, type ComparedRuns, type PageData } from "../data/generated.js";
import { h, replaceChildren } from "../dom.js";
import { labelled, select } from "../parts/section.js";
import { startTheme, surround } from "../parts/theme.js";
import { drawRun, topLine } from "../report_page.js";
import * as address from "./address.js";
import { VERDICT_NAMES } from "../data/generated.js";
import { duration, percent } from "../words.js";
import { failed, nothingYet, reading } from "./states.js";
import { listRuns, loadComparison, loadRun, loadStep, Unreadable, type ListedRun } from "./server.js";

const LOOK_EVERY_MS = 10_000;
const MOST_KEPT = 8;
/** From so many times as long on a step's growth is a factor and no percentage, as in `tfadvisor compare`. */
const TIMES = 4;
const ASIDE = "Everything on this page comes from the TensorBoard around it; it contacts no other machine.";

export function startTab(page: HTMLElement): void {
  startTheme();
  new Tab(page).start();
}

class Tab {
  private runs: ListedRun[] = [];
  private chosen = "";
  private compared = "";
  /** The stamp of the files that the shown page was made from; empty while none is shown. */
  private shownStamp = "";
  private current = new AbortController();
  private readonly kept = new Map<string, PageData>();
  private readonly comparisons = new Map<string, ComparedRuns>();
  private readonly picker = h("div", { class: "picker" });
  private readonly notice = h("p", { class: "notice small", role: "status", hidden: true });

  constructor(private readonly page: HTMLElement) {}

  start(): void {
    const asked = address.read();
    this.chosen = asked.run;
    this.compared = asked.compare;
    address.onChange((shown) => { this.follow(shown); });
    this.listenToTensorBoard();
    setInterval(() => { if (this.isVisible()) void this.look(false); }, LOOK_EVERY_MS);
    void this.look(true).then(() => this.show(asked.finding));
  }

  /** TensorBoard's reload button calls `reload` of the frame that it shows. */
  private listenToTensorBoard(): void {
    try {
      const frame: (Element & { reload?: () => void }) | null = window.frameElement;
      if (frame !== null) frame.reload = () => { void this.lookWhenAsked(); };
    } catch {
      // Inside a page of another origin.
    }
    const body = address.tensorBoard()?.document.body;
    if (body === undefined) return;
    const follow = (): void => { surround(body.classList.contains("dark-mode") ? "dark" : "light"); };
    new MutationObserver(follow).observe(body, { attributeFilter: ["class"] });
    follow();
  }

  private isVisible(): boolean {
    return document.visibilityState === "visible" && innerWidth > 0;
  }

  /** Lists the runs again. first: nothing is shown yet. */
  private async look(first: boolean): Promise<void> {
    let runs: ListedRun[];
    try {
      runs = await listRuns();
    } catch (error) {
      if (first) this.say(failed(error, () => { void this.look(true).then(() => this.show("")); }));
      return;
    }
    const known = new Set(this.runs.map((one) => one.name));
    const added = first ? [] : runs.filter((one) => !known.has(one.name));
    this.runs = runs;
    if (!runs.some((one) => one.name === this.chosen) && (this.shownStamp === "" || first)) this.chosen = runs[0]?.name ?? "";
    if (!runs.some((one) => one.name === this.compared)) this.compared = "";
    this.fillPicker();
    this.tellNews(added);
    if (!first && known.size === 0 && runs.length > 0) await this.show("");
  }

  /** The same, with an answer even where nothing is new. */
  private async lookWhenAsked(): Promise<void> {
    this.notice.hidden = true;
    await this.look(false);
    if (!this.isTelling()) this.tell(this.runs.length === 1 ? "1 run, as before." : `${this.runs.length} runs, none of them new.`, null);
  }

  private tellNews(added: ListedRun[]): void {
    const listed = this.listed(this.chosen);
    if (this.shownStamp !== "" && listed === undefined) this.tell("This run is no longer in the logdir.", null);
    else if (this.shownStamp !== "" && listed !== undefined && listed.stamp !== this.shownStamp) this.tell("This run's files have changed.", ["Read again", () => { void this.show(""); }]);
    else if (added.length > 0) this.tell(added.length === 1 ? `New run: ${added[0]!.name}.` : `${added.length} new runs, the newest: ${added[0]!.name}.`, ["Show it", () => { this.choose(added[0]!.name); }]);
  }

  private tell(words: string, action: [string, () => void] | null): void {
    this.notice.hidden = false;
    replaceChildren(this.notice, words, action === null ? null : h("button", { type: "button", class: "quiet", on: { click: () => { this.notice.hidden = true; action[1](); } } }, action[0]));
  }

  private isTelling(): boolean {
    return !this.notice.hidden;
  }

  private listed(name: string): ListedRun | undefined {
    return this.runs.find((one) => one.name === name);
  }

  private fillPicker(): void {
    const names = this.runs.map((one) => one.name);
    const words = this.runs.map((one, place) => [one.hosts > 1 ? `${one.name} (${one.hosts} hosts)` : one.name, toldWords(one, this.runs.slice(place + 1))].filter((part) => part !== "").join(": "));
    const before = this.runBefore();
    const focused = [...this.picker.querySelectorAll("select, button")].indexOf(document.activeElement!);
    replaceChildren(this.picker,
      labelled("Run", select(words, names.indexOf(this.chosen), (index) => { this.choose(names[index]!); })),
      labelled("Compare with", select(["nothing", ...words.map((one, place) => (names[place] === before ? `${one} (the run before)` : one))], names.indexOf(this.compared) + 1, (index) => {
        this.compared = index === 0 || names[index - 1] === this.chosen ? "" : names[index - 1]!;
        this.fillPicker();
        void this.show("");
      })),
      before === "" || this.compared !== "" ? null : h("button", { type: "button", class: "quiet", title: `Compare with ${before}`, on: { click: () => {
        this.compared = before;
        this.fillPicker();
        void this.show("");
      } } }, "Compare with the run before"),
      h("button", { type: "button", class: "quiet", title: "Look for new runs", on: { click: () => { void this.lookWhenAsked(); } } }, "Refresh"));
    if (focused >= 0) this.picker.querySelectorAll<HTMLElement>("select, button")[focused]?.focus();
  }

  /** The run that was recorded last before the chosen one in the same folder, "" without one. */
  private runBefore(): string {
    const at = this.runs.findIndex((one) => one.name === this.chosen);
    return at < 0 ? "" : (this.runs.slice(at + 1).find((one) => folderOf(one.name) === folderOf(this.chosen))?.name ?? "");
  }

  private choose(name: string): void {
    if (name === this.compared) this.compared = this.chosen;
    this.chosen = name;
    this.fillPicker();
    void this.show("");
  }

  /** The address was changed by hand, or a link was followed. */
  private follow(shown: address.Shown): void {
    if (shown.run !== "" && (shown.run !== this.chosen || shown.compare !== this.compared)) {
      this.chosen = shown.run;
      this.compared = shown.compare;
      this.fillPicker();
      void this.show(shown.finding);
    } else if (shown.finding !== "") this.open(shown.finding);
  }

  private open: (finding: string) => void = () => undefined;

  /** Loads and draws what is chosen. finding: to open. again: although it failed before. */
  private async show(finding: string, again = false): Promise<void> {
    this.current.abort();
    const mine = this.current = new AbortController();
    const { chosen, compared } = this;
    this.shownStamp = "";
    if (chosen === "") {
      this.say(nothingYet());
      return;
    }
    address.say({ run: chosen, compare: compared, finding });
    try {
      const run = await this.load(chosen, again, mine.signal, true);
      this.draw(run, null, null, mine.signal);
      if (finding !== "") this.open(finding);
      if (compared !== "") await this.drawBeside(run, finding, again, mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      if (this.shownStamp === "") this.say(failed(error, () => { void this.show(finding, true); }));
      else this.tell(`${compared} cannot be compared: ${error instanceof Unreadable ? `${error.cause_} ${error.remedy}` : String(error)}`, null);
    }
  }

  /** Draws the run again beside the one to compare it with, when that is read. */
  private async drawBeside(run: PageData, finding: string, again: boolean, signal: AbortSignal): Promise<void> {
    const { chosen, compared } = this;
    this.tell(`Reading ${compared} to compare.`, null);
    const other = await this.load(compared, again, signal, false);
    const pair = `${this.keyOf(chosen)} ${this.keyOf(compared)}`;
    const known = this.comparisons.get(pair) ?? await loadComparison(chosen, compared, signal);
    if (known !== null) this.comparisons.set(pair, known);
    const at = scrollY;
    this.draw(run, other, known, signal);
    scrollTo(0, at);
    if (finding !== "") this.open(finding);
  }

  private draw(run: PageData, other: PageData | null, known: ComparedRuns | null, signal: AbortSignal): void {
    const listed = this.listed(this.chosen);
    const focused = this.picker.contains(document.activeElement) ? document.activeElement as HTMLElement : null;
    this.notice.hidden = true;
    this.open = drawRun(this.page, {
      data: { format: FORMAT, trace_viewer: listed?.trace_viewer ?? null, runs: other === null ? [run] : [run, other], comparisons: known === null ? [] : [known] },
      run, other, signal,
      toFinding: (id) => address.linkTo({ run: this.chosen, compare: this.compared, finding: id }),
      loadStep: (host, index) => loadStep(this.chosen, host, index, signal),
      picker: this.picker,
      notice: this.notice,
      aside: ASIDE,
      atOnce: other !== null,
    });
    focused?.focus();
    this.shownStamp = listed?.stamp ?? "gone";
  }

  private async load(name: string, again: boolean, signal: AbortSignal, show: boolean): Promise<PageData> {
    const found = this.keptRun(name);
    if (found !== undefined) return found;
    const key = this.keyOf(name);
    const state = reading(name);
    if (show) this.say(state.element);
    const run = await loadRun(name, again, signal, state.update);
    this.kept.set(key, run);
    void this.look(false);
    for (const old of [...this.kept.keys()].slice(0, -MOST_KEPT)) this.kept.delete(old);
    return run;
  }

  private keptRun(name: string): PageData | undefined {
    return this.kept.get(this.keyOf(name));
  }

  /** Changes with the run's files. */
  private keyOf(name: string): string {
    return `${this.listed(name)?.stamp ?? ""} ${name}`;
  }

  /** Something else than a run. */
  private say(words: HTMLElement): void {
    const focused = this.picker.contains(document.activeElement) ? document.activeElement as HTMLElement : null;
    this.shownStamp = "";
    document.title = "tfadvisor";
    replaceChildren(this.page, h("header", { class: "top" }, topLine(this.runs.length > 0 ? this.picker : null), this.notice, this.chosen === "" ? null : h("h1", null, this.chosen)), h("div", { class: "frame alone" }, h("main", null, words)));
    focused?.focus();
  }
}

/** `Input-bound, 3.28 ms, ▲ +12%`: verdict, step, and the step's change since the run before of the same kind in the same folder. earlier: newest first. */
export function toldWords(run: ListedRun, earlier: ListedRun[]): string {
  if (run.told === null) return "";
  const { verdict, step_ms: step } = run.told;
  const before = earlier.find((one) => folderOf(one.name) === folderOf(run.name) && one.told?.kind === run.told?.kind && typeof one.told?.step_ms === "number")?.told?.step_ms ?? null;
  const change = step === null || before === null || before <= 0 ? null : step / before - 1;
  const grown = change !== null && change + 1 >= TIMES ? `▲ ${Math.round(change + 1)} times as long` : "";
  const trend = grown !== "" || change === null ? grown : Math.abs(change) < 0.01 ? "as before" : `${change > 0 ? "▲ +" : "▼ −"}${percent(Math.abs(change))}`;
  return [VERDICT_NAMES[verdict] ?? verdict, step === null ? "" : duration(step), trend].filter((one) => one !== "").join(", ");
}

function folderOf(name: string): string {
  return name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
}
