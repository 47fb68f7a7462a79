/** Printing: light colours, everything that is drawn is drawn, and tables show what fits on a page. */
import { printTheme } from "./theme.js";

/** Said on the document before the page is printed, when what waits to be seen must be drawn at once. */
export const PRINTS = "tfadvisor-prints";
/** Said when it has been printed. */
export const PRINTED = "tfadvisor-printed";

export function startPrinting(): void {
  addEventListener("beforeprint", () => {
    printTheme(true);
    document.dispatchEvent(new CustomEvent(PRINTS));
  });
  addEventListener("afterprint", () => {
    printTheme(false);
    document.dispatchEvent(new CustomEvent(PRINTED));
  });
}
