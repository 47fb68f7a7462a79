/** Every op and kernel of the counted steps: searched, sorted, and as many as there are. */
import { CLASS_OF_WORK } from "../data/generated.js";
import { texts } from "../data/read.js";
import { extent, launchFacts } from "../data/op_rows.js";
import { h, replaceChildren } from "../dom.js";
import { meter, swatch } from "../parts/bar.js";
import { asTable, empty, labelled, section, select, smallTable, type Section, type View } from "../parts/section.js";
import { hloText } from "../parts/hlo_text.js";
import { middle } from "../parts/middle.js";
import { virtualTable } from "../parts/virtual_table.js";
import { count, duration, inWords, percent, plural, size } from "../words.js";

const KINDS_OF_WAY: Record<string, string> = { h2d: "host to device", d2h: "device to host" };

/** What is copied between host and devices in a step, how fast, and what that rate means. */
function copyTable({ run: { copies, report } }: View): HTMLElement | null {
  if (copies.length === 0) return null;
  const share = copies.reduce((sum, one) => sum + one.ms_per_step, 0) / Math.max(report.steps.time_ms?.median ?? 0, 1e-9);
  const made = asTable("Copies between host and devices", () =>
    smallTable("Copies", [{ title: "Way" }, { title: "Per step", number: true }, { title: "Size", number: true }, { title: "Rate", number: true }, { title: "What the rate means" }, { title: "Where" }],
      copies.map((one) => [one.way, duration(one.ms_per_step), one.bytes_per_step === null ? "not in the trace" : size(one.bytes_per_step), one.gb_s === null ? "–" : inWords(one.gb_s, "GB/s"), one.meaning || "–", one.line || "–"])));
  (made as HTMLDetailsElement).open = share >= OPEN;
  return made;
}

/** Of the step: copies that take as much are open. */
const OPEN = 0.05;

const plain = (name: string): string => name.replace(/[.-]/g, "_");

export function ops(view: View): Section {
  const columns = view.run.ops;
  const { share } = columns;
  const rows = share.length;
  if (rows === 0) return section("ops", "Ops and kernels", "", empty("No op began in a counted step."));
  const [op, kernel, module, kind, precision, opcode, file] = [columns.op, columns.kernel, columns.module, columns.kind, columns.precision, columns.opcode, columns.file].map(texts);
  const whole = (row: number): string => op![row] ?? kernel![row] ?? "";
  const name = (row: number): string => view.run.short_names[whole(row)] ?? whole(row);
  /** Unless it is called as the op is, as XLA calls that of `fusion.3` `fusion_3`. */
  const kernelOf = (row: number): string => (plain(kernel![row] ?? "") === plain(whole(row)) ? "" : (view.run.short_names[kernel![row] ?? ""] ?? kernel![row] ?? ""));
  const ms = (row: number): number => columns.ms_per_step[row] ?? 0;
  const work = (row: number): string => kind![row]?.replaceAll("_", " ") ?? "";
  const times = (row: number): number => columns.count_per_step[row] ?? 0;
  const place = (row: number): string => (file![row] === null ? "" : `${file![row]}:${columns.line[row] ?? "?"}`);
  const searched = Array.from({ length: rows }, (_, row) => `${whole(row)} ${kernel![row] ?? ""} ${module![row] ?? ""} ${place(row)}`.toLowerCase());

  const cores = (row: number): string => ({ true: "yes", false: "no" })[String(columns.tensor_cores[row])] ?? "";
  const launched = columns.grid.some((one) => one !== null);
  const panel = h("div", { class: "panel", "aria-live": "polite", hidden: true });
  const found = h("span", { class: "dim small", "aria-live": "polite" }, plural(rows, "row"));
  const copied = (of: string): string | null => {
    const way = view.run.copies.find((one) => one.way === KINDS_OF_WAY[of] && one.gb_s !== null);
    return way === undefined ? null : [inWords(way.gb_s!, "GB/s"), way.meaning].filter((words) => words !== "").join(": ");
  };
  const explain = (row: number): void => {
    const [flops, bytes] = [columns.flops[row] ?? null, columns.bytes[row] ?? null];
    const seconds = times(row) > 0 ? ms(row) / times(row) / 1e3 : 0;
    const facts: [string, string | null][] = [
      ["kernel", kernel![row] === whole(row) ? null : (kernel![row] ?? null)],
      ["program", module![row] ?? null],
      ["opcode", opcode![row] ?? null],
      ["precision", precision![row] ?? null],
      ["where", place(row) || null],
      ...launchFacts(columns, row),
      ["such copies", copied(kind![row] ?? "")],
      ["one execution", duration(seconds * 1e3)],
      ["arithmetic", flops === null ? null : `${count(flops)} operations${seconds > 0 ? `, ${(flops / seconds / 1e9).toPrecision(3)} GFLOP/s` : ""}`],
      ["memory", bytes === null ? null : `${size(bytes)} by shapes${seconds > 0 ? `, ${(bytes / seconds / 1e9).toPrecision(3)} GB/s` : ""}`],
    ];
    panel.hidden = false;
    replaceChildren(panel, h("p", { class: "event-name" }, swatch(CLASS_OF_WORK[kind![row] ?? ""] ?? "transfer"), h("code", null, whole(row))), h("dl", { class: "facts" }, ...facts.map(([title, value]) => (value === null ? null : h("div", null, h("dt", null, title), h("dd", null, value))))), hlo(op![row] ?? "", kernel![row] ?? "", module![row] ?? ""));
  };
  const hlo = (op_: string, kernel_: string, module_: string): HTMLElement | null => {
    const found_ = view.run.excerpts.find((one) => one.op === op_ && one.kernel === kernel_ && one.module === module_) ?? view.run.excerpts.find((one) => one.op === op_ && one.module === module_ && op_ !== "");
    if (found_ === undefined) return null;
    return hloText(found_, (neighbour) => {
      const row = Array.from({ length: rows }, (_, at) => at).find((at) => op![at] === neighbour && (module![at] ?? "") === module_);
      return row === undefined ? null : () => { table.choose(row); panel.scrollIntoView({ block: "nearest" }); };
    });
  };

  const table = virtualTable({
    label: "Ops and kernels",
    rows,
    sortBy: "share",
    onChoose: explain,
    signal: view.signal,
    columns: [
      { id: "name", title: "Op or kernel", width: "minmax(120px, 4fr)", value: name, cell: (row) => h("span", { class: "named" }, swatch(CLASS_OF_WORK[kind![row] ?? ""] ?? "transfer"), launched ? h("span", { class: "unseen" }, work(row)) : null, middle(name(row)), kernelOf(row) === "" ? null : h("span", { class: "dim small" }, middle(kernelOf(row), 12, 10))) },
      { id: "kind", title: "Class", width: "80px", from: launched ? 1240 : 880, below: work, value: (row) => kind![row] ?? null, cell: work },
      { id: "share", title: "Share", about: "Of all device time", width: "96px", number: true, value: (row) => share[row]!, cell: (row) => meter(share[row]!, CLASS_OF_WORK[kind![row] ?? ""] ?? "transfer") },
      { id: "time", title: "Per step", about: "Time per step and device", width: "76px", number: true, from: 400, below: (row) => duration(ms(row)), value: ms, cell: (row) => duration(ms(row)) },
      { id: "count", title: "Times", about: "Executions per step and device", width: "48px", number: true, from: 560, value: times, cell: (row) => count(Math.round(times(row) * 10) / 10) },
      { id: "each", title: "Each", about: "Mean length of an execution", width: "72px", number: true, from: launched ? 1240 : 720, value: (row) => (times(row) > 0 ? ms(row) / times(row) : null), cell: (row) => (times(row) > 0 ? duration(ms(row) / times(row)) : "–") },
      { id: "precision", title: "Precision", width: "68px", from: 800, below: (row) => precision![row] ?? null, value: (row) => precision![row] ?? null, cell: (row) => precision![row] ?? "–" },
      ...(columns.tensor_cores.some((one) => one !== null) ? [
        { id: "tensor_cores", title: "TC", about: "Whether it uses Tensor Cores, on AMD matrix cores", width: "32px", from: 1080, value: (row: number) => cores(row) || null, cell: (row: number) => cores(row) || "–" },
      ] : []),
      ...(launched ? [
        { id: "grid", title: "Grid", about: "Blocks of a launch", width: "80px", number: true, from: 1080, value: (row: number) => (columns.grid[row] ?? []).reduce((product, one) => product * one, 1), cell: (row: number) => extent(columns.grid[row]) || "–" },
        { id: "block", title: "Block", about: "Threads of a block", width: "56px", number: true, from: 1080, value: (row: number) => (columns.block[row] ?? []).reduce((product, one) => product * one, 1), cell: (row: number) => extent(columns.block[row]) || "–" },
        { id: "registers", title: "Regs", about: "Registers of a thread", width: "40px", number: true, from: 1080, value: (row: number) => columns.registers[row] ?? null, cell: (row: number) => (typeof columns.registers[row] === "number" ? count(columns.registers[row]) : "–") },
        { id: "shared", title: "Shared", about: "Memory that the threads of a block share", width: "64px", number: true, from: 1080, value: (row: number) => columns.shared_bytes[row] ?? null, cell: (row: number) => (typeof columns.shared_bytes[row] === "number" ? size(columns.shared_bytes[row]) : "–") },
        { id: "occupancy", title: "Occup.", about: "Warps that a multiprocessor can hold at once, over those that it has room for", width: "56px", number: true, from: 900, value: (row: number) => columns.occupancy[row] ?? null, cell: (row: number) => (typeof columns.occupancy[row] === "number" ? percent(columns.occupancy[row]) : "–") },
      ] : []),
      ...(file!.some((one) => one !== null) ? [{ id: "where", title: "Where", width: "minmax(112px, 1fr)", from: launched ? 1080 : 980, value: (row: number) => place(row) || null, cell: (row: number) => (place(row) === "" ? "–" : middle(place(row))) }] : []),
      { id: "kernel", title: "Kernel", width: "0", from: Infinity, below: kernelOf, value: (row) => kernel![row] ?? null, cell: kernelOf },
    ],
  });

  const search = h("input", { type: "search", placeholder: "Name, program or file", "aria-label": "Search ops" });
  const classes = [...new Set(kind!.map((one) => one ?? ""))].sort();
  let chosen = 0;
  const filter = (): void => {
    const wanted = search.value.trim().toLowerCase().split(/\s+/).filter((one) => one !== "");
    const only = chosen === 0 ? null : classes[chosen - 1];
    const kept = table.filter(wanted.length === 0 && only === null ? null : (row) => (only === null || kind![row] === only) && wanted.every((word) => searched[row]!.includes(word)));
    found.textContent = kept === rows ? plural(rows, "row") : `${count(kept)} of ${plural(rows, "row")}`;
  };
  search.addEventListener("input", filter);
  const choose = select(["All classes", ...classes.map((one) => one.replaceAll("_", " "))], 0, (index) => {
    chosen = index;
    filter();
  });
  return section("ops", "Ops and kernels", count(rows), h("div", { class: "toolbar" }, search, labelled("Class", choose), found), table.element, panel, copyTable(view));
}
