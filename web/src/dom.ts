/** Elements from plain values. Text is only ever text: nothing here parses markup. */

type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined;
type Handler = (event: Event) => void;

/** Attributes; `on` holds event handlers, `css` custom properties and styles. */
export interface Attributes {
  on?: Record<string, Handler>;
  css?: Record<string, string>;
  [name: string]: Value | Record<string, Handler> | Record<string, string>;
}

const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Control and direction-changing characters as `\x1b`, so that a name looks like what it is. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (found) => `\\x${found.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") for (const [event, handler] of Object.entries(value as Record<string, Handler>)) element.addEventListener(event, handler);
    else if (name === "css") for (const [property, css] of Object.entries(value as Record<string, string>)) element.style.setProperty(property, css);
    else if (name === "href") element.setAttribute(name, safeAddress(typeof value === "string" ? value : "#"));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, printable(typeof value === "object" ? "" : String(value)));
  }
  append(element, ...children);
  return element;
}

export function append(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : printable(String(child)));
  }
}

/** Words, and what stands between backticks as code. */
export function withCode(text: string): (Node | string)[] {
  const pieces = text.split(/`([^`]+)`/);
  return pieces.map((piece, place) => (place % 2 === 1 ? h("code", null, piece) : piece));
}

export function replaceChildren(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, ...children);
}

/** An address that cannot run anything: http, https, or inside the page or its folder. */
export function safeAddress(address: string): string {
  const scheme = /^[\s\x00-\x1f]*([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase();
  return scheme === undefined || scheme === "http" || scheme === "https" ? address : "#";
}

let numbered = 0;

/** An id that no other element has. */
export function freshId(about: string): string {
  numbered += 1;
  return `${about}-${numbered}`;
}
