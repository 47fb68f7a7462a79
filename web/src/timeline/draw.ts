/** The lanes in view, onto a canvas. */
import type { Kind } from "../data/classes.js";
import { printable } from "../dom.js";
import type { Palette } from "../parts/theme.js";
import type { Zoom } from "../parts/zoom.js";
import { duration } from "../words.js";
import { timeTicks, type Ticks } from "./axis.js";
import { HEAD, ROW, laneTitle, type Layout } from "./layout.js";

/** The upper half tells what offsets are from and the length of the chosen range, the lower half times. */
export const AXIS = 40;
/** Below the time at the pointer, above the ticks. */
const LENGTH_Y = 18;
const FONT = "11px system-ui, sans-serif";
const LEAST_TEXT = 28;
const LEAST_LETTERS = 4;
/** Names up to it, those of classes among them, are cut at their ends. */
const SHORT = 10;
const FADED = 0.16;
const HOLDER = 0.45;
const MARK = 3;

export interface Scene {
  layout: Layout;
  zoom: Zoom;
  colours: Palette;
  width: number;
  height: number;
  scrolled: number;
  /** The classes that stand out; null where all do. */
  highlight: readonly Kind[] | null;
  matches: Set<number> | null;
  chosen: number | null;
  /** The chosen stretch of time, ns. */
  range: readonly [number, number] | null;
  /** From calls to what they launched. */
  arrows: [call: number, launched: number][];
  /** Numbers of the findings about a class of time. */
  marks: Map<Kind, string>;
}

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { width, height, colours, layout, scrolled } = scene;
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  const ticks = timeTicks(scene.zoom.from, scene.zoom.to, width);
  context.fillStyle = colours.line;
  for (const { x } of ticks.ticks) context.fillRect(x, AXIS, 1, height - AXIS);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height - AXIS);
  context.clip();
  for (const box of layout.lanes) {
    const y = AXIS + box.top - scrolled;
    if (y > height || y + box.height < AXIS) continue;
    const title = printable(laneTitle(box.lane));
    context.fillStyle = colours.surface;
    context.fillRect(0, y, Math.min(context.measureText(title).width + 8, width), HEAD);
    context.fillStyle = box.lane.role === "classes" || box.lane.role === "driver" ? colours.text : colours.dim;
    context.fillText(title, 2, y + HEAD / 2 + 1);
  }
  for (const row of layout.rows) {
    const y = AXIS + row.top - scrolled;
    if (y < height && y + ROW > AXIS) drawRow(context, scene, row, y);
  }
  arrows(context, scene);
  context.restore();
  axis(context, scene, ticks);
}

const HEAD_PX = 5;

/** From where a call ends to where what it launched begins. */
function arrows(context: CanvasRenderingContext2D, { layout, zoom, width, scrolled, colours, arrows: pairs }: Scene): void {
  const { start, length } = layout.step;
  const x = (time: number): number => ((time - zoom.from) / zoom.width) * width;
  const y = (event: number): number => AXIS + (layout.rows[layout.rowOf(event)]?.top ?? 0) - scrolled + ROW / 2;
  context.strokeStyle = context.fillStyle = colours.text;
  context.lineWidth = 1;
  for (const [call, launched] of pairs) {
    const [fromX, fromY, toX, toY] = [x(start[call]! + length[call]!), y(call), x(start[launched]!), y(launched)];
    const angle = Math.atan2(toY - fromY, toX - fromX);
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
    context.beginPath();
    context.moveTo(toX, toY);
    for (const side of [-0.4, 0.4]) context.lineTo(toX - HEAD_PX * 1.6 * Math.cos(angle + side), toY - HEAD_PX * 1.6 * Math.sin(angle + side));
    context.fill();
  }
}

function drawRow(context: CanvasRenderingContext2D, scene: Scene, row: { lane: number; from: number; to: number }, y: number): void {
  const { layout, zoom, width, colours } = scene;
  const marked = layout.step.lanes[row.lane]!.role === "classes" ? scene.marks : null;
  const { start, length } = layout.step;
  const scale = width / zoom.width;
  let painted = -1;
  for (let event = layout.firstAfter(row as never, zoom.from); event < row.to; event += 1) {
    if (start[event]! > zoom.to) break;
    const left = Math.max((start[event]! - zoom.from) * scale, 0);
    const right = Math.min((start[event]! + length[event]! - zoom.from) * scale, width);
    const end = Math.max(right, left + 1);
    if (end <= painted + 0.5 && event !== scene.chosen) continue; // nothing of it would be seen
    painted = end;
    const kind = layout.kind(event);
    const faded = (scene.highlight !== null && !scene.highlight.includes(kind)) || (scene.matches !== null && !scene.matches.has(event));
    const block = layout.block(event);
    const gap = end - left > 3 ? 0.5 : 0;
    context.globalAlpha = faded ? FADED : block === null ? (layout.isHolder(event) ? HOLDER : 1) : 0.35 + (0.45 * block.busy) / Math.max(length[event]!, 1);
    context.fillStyle = colours.kinds[kind];
    context.fillRect(left, y + 1, end - left - gap, ROW - 2);
    context.globalAlpha = 1;
    const mark = marked?.get(kind);
    if (mark !== undefined && !faded) {
      context.fillStyle = colours.text;
      context.fillRect(left, y + ROW - 1, end - left - gap, MARK);
    }
    if (end - left >= LEAST_TEXT) label(context, printable(layout.name(event)), mark === undefined ? "" : `, finding ${mark.replaceAll(" ", ", ")}`, left, end, y, faded || block !== null || layout.isHolder(event) ? colours.text : inkOn(colours.kinds[kind]), faded);
    if (event === scene.chosen) {
      context.strokeStyle = colours.text;
      context.lineWidth = 2;
      context.strokeRect(left + 0.5, y + 1, Math.max(end - left - 1, 2), ROW - 2);
    }
  }
}

/** more: said behind the text where it fits. */
function label(context: CanvasRenderingContext2D, text: string, more: string, left: number, end: number, y: number, ink: string, faded: boolean): void {
  const fits = Math.max(Math.floor((end - left - 8) / 5.4), 0);
  if (fits < LEAST_LETTERS) return;
  const short = text.length + more.length <= fits ? text + more : cut(text, fits);
  context.globalAlpha = faded ? 0.5 : 1;
  context.fillStyle = ink;
  context.fillText(short, left + 4, y + ROW / 2 + 0.5, end - left - 6);
  context.globalAlpha = 1;
}

/** Long ones in the middle: names that begin alike differ at their ends. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  if (text.length <= SHORT) return `${text.slice(0, most - 1)}…`;
  return `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
}

function axis(context: CanvasRenderingContext2D, scene: Scene, { baseWords, ticks }: Ticks): void {
  const { width, height, colours, zoom, range } = scene;
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, width, AXIS);
  context.fillStyle = colours.line;
  context.fillRect(0, AXIS - 1, width, 1);
  context.fillStyle = colours.dim;
  for (const { x, words } of ticks) {
    context.fillRect(x, AXIS - 6, 1, 5);
    context.fillText(words, Math.min(x + 3, width - context.measureText(words).width), AXIS * 0.78);
  }
  context.fillStyle = colours.text;
  const base = baseWords === "" ? "" : `${baseWords} and`;
  context.fillText(base, 2, LENGTH_Y);
  if (range === null) return;
  const [left, right] = range.map((time) => Math.min(Math.max(((time - zoom.from) / zoom.width) * width, 0), width)) as [number, number];
  context.fillStyle = colours.accent;
  context.globalAlpha = 0.16;
  context.fillRect(left, 0, right - left, height);
  context.globalAlpha = 1;
  for (const edge of [left, right]) context.fillRect(edge - 0.5, 0, 1, height);
  const words = duration((range[1] - range[0]) / 1e6);
  const long = context.measureText(words).width;
  context.fillText(words, Math.min(Math.max((left + right - long) / 2, context.measureText(base).width + 10), width - long - 2), LENGTH_Y);
}

const inks = new Map<string, string>();

/** Black or white, whichever stands out more. */
function inkOn(colour: string): string {
  const known = inks.get(colour);
  if (known !== undefined) return known;
  const channels = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * (channels[0] ?? 0) + 0.7152 * (channels[1] ?? 0) + 0.0722 * (channels[2] ?? 0);
  const ink = light > 0.18 ? "#000000" : "#ffffff";
  inks.set(colour, ink);
  return ink;
}
