/** The input pipeline as a tree, and the calls that the training loop makes. */
import type { PipelineInfo, StageRow } from "../data/generated.js";
import { texts } from "../data/read.js";
import { h } from "../dom.js";
import { section, smallTable, type Section, type View } from "../parts/section.js";
import { count, duration, plural } from "../words.js";

/** null when the trace shows neither. */
export function input(view: View): Section | null {
  const { pipelines } = view.run;
  const calls = callTable(view);
  if (pipelines.length === 0 && calls === null) return null;
  return section(
    "input",
    "Input and training loop",
    "",
    ...pipelines.map((one) => pipeline(one, pipelines.length > 1)),
    pipelines.length === 0 ? h("p", { class: "dim" }, "The trace shows no tf.data pipeline.") : null,
    calls,
  );
}

function pipeline(found: PipelineInfo, several: boolean): HTMLElement {
  const most = Math.max(...found.stages.map((stage) => stage.wall_ms), 1e-12);
  const slowest = found.stages.reduce((best, stage) => (stage.wall_ms > best.wall_ms ? stage : best), found.stages[0]!);
  const roots = found.stages.filter((stage) => parentOf(stage, found.stages) === null);
  return h(
    "div",
    { class: "pipeline" },
    several ? h("h3", null, found.host) : null,
    h("p", { class: "dim small" }, "From the consumer down to the source. Bars show the least time per step that a stage takes alone, with its parallelism."),
    h("div", { class: "flow-frame", tabindex: 0, role: "group", "aria-label": "Input pipeline as a graph, from the source to the consumer" }, ...roots.map((stage) => h("div", { class: "flow" }, flow(stage, found.stages, most, slowest), flowArrow(), h("div", { class: "flow-box" }, h("strong", null, "training step"))))),
    h("ul", { class: "tree" }, ...roots.map((stage) => branch(stage, found.stages, most, slowest))),
  );
}

/** A stage behind those that it reads. */
function flow(stage: StageRow, stages: StageRow[], most: number, slowest: StageRow): HTMLElement {
  const below = stages.filter((one) => parentOf(one, stages) === stage);
  const box = h("div", { class: `flow-box${stage === slowest ? " slowest" : ""}`, title: stage.name === "" ? stage.kind : `${stage.kind} ${stage.name}` },
    h("strong", null, stage.kind), h("span", { class: "number" }, duration(stage.wall_ms)),
    h("span", { class: "stage-track", "aria-hidden": "true" }, h("span", { class: "k-input", css: { width: `${Math.max((stage.wall_ms / most) * 100, 0.5)}%` } })));
  return below.length === 0 ? box : h("div", { class: "flow" }, h("div", { class: "flow-in" }, ...below.map((one) => flow(one, stages, most, slowest))), flowArrow(), box);
}

function flowArrow(): HTMLElement {
  return h("span", { class: "hlo-arrow", "aria-hidden": "true" }, "→");
}

function parentOf(stage: StageRow, stages: StageRow[]): StageRow | null {
  let path = stage.path;
  while (path.includes("::")) {
    path = path.slice(0, path.lastIndexOf("::"));
    const parent = stages.find((one) => one.path === path);
    if (parent !== undefined) return parent;
  }
  return null;
}

function branch(stage: StageRow, stages: StageRow[], most: number, slowest: StageRow): HTMLElement {
  const below = stages.filter((one) => parentOf(one, stages) === stage);
  const settings = Object.entries(stage.settings);
  const facts = [
    `${duration(stage.ms_per_step)} of work per step`,
    stage.parallelism > 1 ? `${count(stage.parallelism)} at once` : "one at a time",
    `${plural(Math.round(stage.calls_per_step * 10) / 10, "call")} per step`,
    stage.python ? "runs Python" : "",
  ].filter((one) => one !== "");
  return h(
    "li",
    null,
    h("div", { class: "stage" },
      h("span", { class: "stage-name" }, stage.kind, stage.name === "" ? null : h("span", { class: "dim" }, ` ${stage.name}`), stage === slowest ? h("span", { class: "chip" }, "slowest") : null),
      h("strong", { class: "number" }, duration(stage.wall_ms)),
      h("span", { class: "stage-track", "aria-hidden": "true" }, h("span", { class: "k-input", css: { width: `${Math.max((stage.wall_ms / most) * 100, 0.5)}%` } })),
      h("span", { class: "dim small stage-facts" }, facts.join(", "))),
    settings.length === 0 ? null : h("details", { class: "as-table" }, h("summary", null, "Settings in the trace"), h("dl", { class: "facts" }, ...settings.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))))),
    below.length === 0 ? null : h("ul", null, ...below.map((one) => branch(one, stages, most, slowest))),
  );
}

function callTable(view: View): HTMLElement | null {
  const columns = view.run.calls;
  const rows = columns.host_ms.length;
  if (rows === 0) return null;
  const [host, place, inner] = [texts(columns.host), texts(columns.place), texts(columns.inner)];
  const several = new Set(host).size > 1;
  return h(
    "div",
    null,
    h("h3", null, "Python calls of the training loop"),
    smallTable("Python calls of the training loop", [{ title: "Call" }, ...(several ? [{ title: "Host" }] : []), { title: "Mostly in" }, { title: "Calls per step", number: true }, { title: "Host time", number: true }, { title: "Input time", number: true }],
      Array.from({ length: rows }, (_, row) => [
        h("code", null, place[row] ?? ""),
        ...(several ? [host[row] ?? ""] : []),
        inner[row] === "" || inner[row] === null || inner[row] === undefined ? "–" : h("code", null, inner[row]),
        typeof columns.calls_per_step[row] === "number" ? count(Math.round(columns.calls_per_step[row] * 10) / 10) : "–",
        duration(columns.host_ms[row] ?? 0),
        duration(columns.input_ms[row] ?? 0),
      ])),
  );
}
