/** The hottest ops against what the device could do: arithmetic per byte, and arithmetic per second. */
import type { Part, Peaks } from "../data/parts.js";
import { duration } from "../words.js";
import { axisStyle, chart, tooltip } from "./chart.js";

const MOST = 60;

/** null where no op's arithmetic is known, or the peaks are not. */
export function roofline(parts: Part[], peaks: Peaks, signal: AbortSignal): HTMLElement | null {
  const { flops, bytes } = peaks;
  const points = parts.filter((one) => (one.flops ?? 0) > 0 && (one.bytes ?? 0) > 0 && one.ms > 0).slice(0, MOST)
    .map((one) => ({ part: one, x: one.flops! / one.bytes!, y: one.flops! / (one.ms / 1e3) / 1e9 }));
  if (flops === null || bytes === null || points.length === 0) return null;
  const ridge = flops / bytes;
  const [low, high] = [Math.min(ridge / 10, ...points.map((one) => one.x)) / 2, Math.max(ridge * 10, ...points.map((one) => one.x)) * 2];
  const most = Math.max(...points.map((one) => one.part.ms));
  return chart({
    label: `Roofline of ${points.length} ops; below the line an op takes longer than the device's peaks allow. The table holds the same numbers`,
    height: 320,
    signal,
    option: (colours) => ({
      grid: { left: 64, right: 24, top: 16, bottom: 48 },
      tooltip: { ...tooltip(colours), trigger: "item", formatter: (one: { seriesIndex: number; dataIndex: number }) => {
        const point = one.seriesIndex === 1 ? points[one.dataIndex] : undefined;
        return point === undefined ? "" : [point.part.name.replace(/[{}|]/g, " ").slice(0, 80), `${point.x.toPrecision(3)} FLOP/byte, ${point.y.toPrecision(3)} GFLOP/s`, `${duration(point.part.ms)} per step`].join("\n");
      } },
      xAxis: { type: "log", min: low, max: high, name: "operations per byte", nameLocation: "middle", nameGap: 28, ...axisStyle(colours) },
      yAxis: { type: "log", name: "GFLOP/s", ...axisStyle(colours) },
      series: [
        { type: "line", symbol: "none", silent: true, lineStyle: { color: colours.text, width: 2 }, data: [[low, (low * bytes) / 1e9], [ridge, flops / 1e9], [high, flops / 1e9]] },
        { type: "scatter", itemStyle: { color: colours.kinds.compute, borderColor: colours.text, borderWidth: 0.5 }, symbolSize: (_: unknown, one: { dataIndex: number }) => 6 + 18 * Math.sqrt((points[one.dataIndex]?.part.ms ?? 0) / most), data: points.map((one) => [one.x, one.y]) },
      ],
    }),
  }).element;
}
