/** What is shown, as part of the address: of TensorBoard's page around this one, else of this page itself. */

const TAB = "tfadvisor";
const PREFIX = `p.${TAB}.`;

/** Empty: not said. */
export interface Shown {
  run: string;
  compare: string;
  finding: string;
}

/** TensorBoard's window, null where this page stands alone or inside a page that it may not look at. */
export function tensorBoard(): Window | null {
  try {
    return parent !== window && parent.location.href !== "" ? parent : null;
  } catch {
    return null;
  }
}

export function read(): Shown {
  const said = entries((tensorBoard() ?? window).location.hash);
  const value = (name: string): string => said.get(key(name)) ?? "";
  return { run: value("run"), compare: value("compare"), finding: value("finding") };
}

/** Puts it into the address bar without a step in the history; while another tab is open, nothing. */
export function say(shown: Shown): void {
  const around = tensorBoard();
  const { location, history } = around ?? window;
  if (around !== null && !entries(location.hash).has(TAB)) return;
  const hash = written(shown);
  if (location.hash !== hash) history.replaceState(history.state, "", hash);
}

/** For a link that others can open. */
export function linkTo(shown: Shown): { href: string; target?: string } {
  const around = tensorBoard();
  if (around === null) return { href: written(shown) };
  return { href: around.location.href.replace(/#.*$/, "") + written(shown), target: "_top" };
}

/** Calls back when the address comes to say something else about what is shown. */
export function onChange(call: (shown: Shown) => void): void {
  (tensorBoard() ?? window).addEventListener("hashchange", () => {
    const shown = read();
    if (shown.run !== "" || shown.finding !== "") call(shown);
  });
}

/** As TensorBoard writes them: `#tab&key=value`. What others put there stays. */
function written(shown: Shown): string {
  const around = tensorBoard();
  const said = around === null ? new Map<string, string>() : entries(around.location.hash);
  for (const [name, value] of Object.entries(shown) as [string, string][]) {
    if (value === "") said.delete(key(name));
    else said.set(key(name), value);
  }
  const others = [...said].filter(([name, value]) => value !== "" && name !== TAB).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `#${[...(around === null ? [] : [TAB]), ...others].join("&")}`;
}

function key(name: string): string {
  return tensorBoard() === null ? name : PREFIX + name;
}

/** A part without `=` is the name of the open tab. */
function entries(hash: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=", 2);
    try {
      if (name !== undefined && name !== "") found.set(decodeURIComponent(name), decodeURIComponent(value ?? ""));
    } catch {
      // Half an escape, typed by hand.
    }
  }
  return found;
}
