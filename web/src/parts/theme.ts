/** Light, dark, or as the system says; and the palette as canvases need it. */
import { h } from "../dom.js";
import { KINDS, type Kind } from "../data/classes.js";

const KEY = "tfadvisor-theme";
const NEXT: Record<string, string> = { auto: "light", light: "dark", dark: "auto" };
const WORDS: Record<string, string> = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

let picked = "auto";
let surrounding: "light" | "dark" | null = null;

export const THEME_CHANGED = "tfadvisor-theme";

export interface Palette {
  kinds: Record<Kind, string>;
  text: string;
  dim: string;
  line: string;
  surface: string;
  accent: string;
}

export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  return {
    kinds: Object.fromEntries(KINDS.map((kind) => [kind, value(`--k-${kind}`)])) as Record<Kind, string>,
    text: value("--text"),
    dim: value("--dim"),
    line: value("--line"),
    surface: value("--surface"),
    accent: value("--accent"),
  };
}

export function themeButton(): HTMLElement {
  const button = h("button", { type: "button", class: "quiet", on: { click: () => { choose(NEXT[picked] ?? "auto"); say(); } } });
  const say = (): void => { button.textContent = picked === "auto" && surrounding !== null ? "Theme: TensorBoard" : (WORDS[picked] ?? ""); };
  say();
  return button;
}

/** Applies what was chosen before, and tells canvases when colours change. */
export function startTheme(): void {
  choose(stored());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);
}

/** Until one is chosen, this theme instead of the system's: that of the page around this one. */
export function surround(theme: "light" | "dark"): void {
  surrounding = theme;
  apply();
  announce();
}

/** Light while the page is printed. */
export function printTheme(prints: boolean): void {
  if (prints) document.documentElement.dataset["theme"] = "light";
  else apply();
}

function apply(): void {
  const theme = picked === "auto" ? surrounding : picked;
  if (theme === null) delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

function choose(theme: string): void {
  picked = theme;
  apply();
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A page opened from a file may not be allowed to remember.
  }
  announce();
}

function stored(): string {
  try {
    const found = localStorage.getItem(KEY) ?? "auto";
    return found in NEXT ? found : "auto";
  } catch {
    return "auto";
  }
}

function announce(): void {
  document.dispatchEvent(new CustomEvent(THEME_CHANGED));
}
