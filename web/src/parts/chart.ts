/** ECharts on a canvas, with only the parts that this page draws; drawn when it comes into view, or when there is time. */
import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { h } from "../dom.js";
import { whenIdle } from "./idle.js";
import { PRINTS } from "./print.js";
import { THEME_CHANGED, palette, type Palette } from "./theme.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

export type Option = echarts.EChartsCoreOption;

export interface Chart {
  element: HTMLElement;
  /** Draws again, after what the option is made of has changed. */
  redraw(): void;
  /** The index on the first axis under a point of the chart. */
  indexAt(x: number, y: number): number | null;
}

interface Wanted {
  label: string;
  height: number;
  option: (colours: Palette, width: number) => Option;
  signal: AbortSignal;
}

function begin(element: HTMLElement): echarts.ECharts {
  // Given the same parts again, it does nothing.
  echarts.use([BarChart, LineChart, ScatterChart, GridComponent, TooltipComponent, CanvasRenderer]);
  return echarts.init(element, null, { renderer: "canvas" });
}

export function chart({ label, height, option, signal }: Wanted): Chart {
  const element = h("div", { class: "chart", role: "img", "aria-label": label, css: { height: `${height}px` } });
  let drawn: echarts.ECharts | null = null;
  let waiting = false;
  const paint = (): void => {
    waiting = false;
    if (drawn === null || drawn.isDisposed()) return;
    if (drawn.getWidth() !== element.clientWidth || drawn.getHeight() !== element.clientHeight) drawn.resize();
    drawn.setOption({ animation: false, textStyle: { fontFamily: FONT }, ...option(palette(), element.clientWidth) }, true);
  };
  /** Once a frame at most, however often it is asked for. */
  const redraw = (): void => {
    if (waiting || drawn === null) return;
    waiting = true;
    requestAnimationFrame(paint);
  };
  const first = (): void => {
    if (drawn !== null || element.clientWidth === 0) return;
    drawn = begin(element);
    paint();
  };
  const seen = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) first(); }, { rootMargin: "200px" });
  seen.observe(element);
  whenIdle(first, signal);
  document.addEventListener(PRINTS, () => {
    drawn ??= begin(element);
    paint();
  }, { signal });
  const sized = new ResizeObserver(() => { redraw(); });
  sized.observe(element);
  document.addEventListener(THEME_CHANGED, redraw, { signal });
  signal.addEventListener("abort", () => {
    seen.disconnect();
    sized.disconnect();
    drawn?.dispose();
  });
  return {
    element,
    redraw,
    indexAt: (x, y) => {
      const point: unknown = drawn?.convertFromPixel({ gridIndex: 0 }, [x, y]);
      return Array.isArray(point) && typeof point[0] === "number" ? point[0] : null;
    },
  };
}

/** Tooltips are drawn on the canvas, never as markup. */
export function tooltip(colours: Palette): Record<string, unknown> {
  return {
    renderMode: "richText",
    backgroundColor: colours.surface,
    borderColor: colours.line,
    borderWidth: 1,
    padding: [8, 12],
    textStyle: { color: colours.text, fontSize: 12, lineHeight: 18 },
    confine: true,
  };
}

export function axisStyle(colours: Palette): Record<string, unknown> {
  return {
    axisLine: { lineStyle: { color: colours.line } },
    axisTick: { lineStyle: { color: colours.line } },
    axisLabel: { color: colours.dim, fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: colours.line, opacity: 0.6 } },
    nameTextStyle: { color: colours.dim, fontSize: 12 },
  };
}
