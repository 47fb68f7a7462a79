/** The drawn steps of a run: those at hand, those packed into the page, and those that only a server can draw. */
import type { DrawnStep, PageData } from "./generated.js";
import { unpack } from "./packed_steps.js";

/** Asks a server for a step; null where nobody can be asked. */
export type LoadStep = ((host: string, index: number) => Promise<DrawnStep>) | null;

export class EveryStep {
  private first: Promise<DrawnStep[]> | null = null;
  private packed: Promise<DrawnStep[]> | null = null;
  private readonly loaded: DrawnStep[] = [];

  constructor(private readonly run: PageData, private readonly load: LoadStep) {}

  /** null where the page does not hold it and nobody can be asked. */
  async get(host: string, index: number): Promise<DrawnStep | null> {
    const wanted = (one: DrawnStep): boolean => one.host === host && one.index === index;
    this.first ??= unpack(this.run.drawn_packed);
    const known = this.loaded.find(wanted) ?? (await this.first).find(wanted);
    if (known !== undefined) return known;
    this.packed ??= unpack(this.run.more);
    const found = (await this.packed).find(wanted);
    return found ?? (this.load === null ? null : this.whole(host, index));
  }

  /** With all of its threads, by a server; null where nobody can be asked. */
  async whole(host: string, index: number): Promise<DrawnStep | null> {
    if (this.load === null) return null;
    const step = await this.load(host, index);
    this.loaded.push(step);
    return step;
  }

  get canLoad(): boolean {
    return this.load !== null;
  }
}
