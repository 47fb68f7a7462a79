/** A window onto a range: what zooming and panning do, whatever is drawn. */

export class Zoom {
  from: number;
  to: number;

  /** least: the smallest width. */
  constructor(readonly whole: number, readonly least: number) {
    this.from = 0;
    this.to = whole;
  }

  get width(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.from <= 0 && this.to >= this.whole;
  }

  /** Above 1 shows less; `at` keeps its place, the middle by default. */
  by(factor: number, at = (this.from + this.to) / 2): void {
    const width = Math.min(Math.max(this.width / factor, Math.min(this.least, this.whole)), this.whole);
    const share = this.width > 0 ? (at - this.from) / this.width : 0.5;
    this.place(at - share * width, width);
  }

  /** By a share of what is shown. */
  pan(share: number): void {
    this.place(this.from + share * this.width, this.width);
  }

  reset(): void {
    this.from = 0;
    this.to = this.whole;
  }

  show(from: number, to: number): void {
    const width = Math.min(Math.max(to - from, Math.min(this.least, this.whole)), this.whole);
    this.place((from + to - width) / 2, width);
  }

  /** Moves as little as needed for the range to be in view. */
  reveal(from: number, to: number): void {
    if (from < this.from || to - from > this.width) this.place(from, this.width);
    else if (to > this.to) this.place(to - this.width, this.width);
  }

  private place(from: number, width: number): void {
    this.from = Math.min(Math.max(from, 0), this.whole - width);
    this.to = this.from + width;
  }
}

/** What a key does to a window; false for a key that does nothing. */
export function zoomKey(zoom: Zoom, key: string): boolean {
  switch (key) {
    case "+":
    case "=":
    case "w":
      zoom.by(1.5);
      return true;
    case "-":
    case "s":
      zoom.by(1 / 1.5);
      return true;
    case "a":
      zoom.pan(-0.25);
      return true;
    case "d":
      zoom.pan(0.25);
      return true;
    case "0":
      zoom.reset();
      return true;
    default:
      return false;
  }
}

/** Ctrl or ⌘ and the wheel zoom, Shift or a sideways wheel pan; the wheel alone is left to the page. */
export function zoomWheel(zoom: Zoom, event: WheelEvent, at: number): boolean {
  if (event.ctrlKey || event.metaKey) zoom.by(Math.exp(-event.deltaY * 0.004), at);
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) zoom.pan((event.deltaX || event.deltaY) / 800);
  else return false;
  event.preventDefault();
  return true;
}

/** Dragging pans; `moved` tells a drag from a click. taken: whether a drag that begins so means something else. */
export function zoomDrag(element: HTMLElement, zoom: () => Zoom, width: () => number, redraw: () => void, taken: (event: PointerEvent) => boolean = () => false): { moved: () => boolean } {
  let last: number | null = null;
  let distance = 0;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || taken(event)) return;
    last = event.clientX;
    distance = 0;
  });
  element.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const by = event.clientX - last;
    distance += Math.abs(by);
    if (distance > 4 && !zoom().isWhole) {
      if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      zoom().pan(-by / width());
      redraw();
    }
    last = event.clientX;
  });
  for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, () => { last = null; });
  return { moved: () => distance > 4 };
}
