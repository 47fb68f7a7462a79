/** Printing: light colours, every finding open, all charts drawn, and of tables what fits on a page. */
import { printTheme } from "./theme.js";

/** Said on the document before the page is printed, when what waits to be seen must be drawn at once. */
export const PRINTS = "tfadvisor-prints";
/** Said when it has been printed. */
export const PRINTED = "tfadvisor-printed";

export function startPrinting(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>(".card details:not([open])")];
    for (const one of opened) one.open = true;
    printTheme(true);
    document.dispatchEvent(new CustomEvent(PRINTS));
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    printTheme(false);
    document.dispatchEvent(new CustomEvent(PRINTED));
  });
}
