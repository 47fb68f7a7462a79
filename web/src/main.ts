/** Builds the page: from the data inside it, or, where a TensorBoard serves it, from what that answers. */
import "./data/generated.css";
import "./style.css";
import { readData } from "./data/read.js";
import { append, h } from "./dom.js";
import { startPrinting } from "./parts/print.js";
import { startTheme } from "./parts/theme.js";
import { showFile } from "./file.js";
import { startTab } from "./tab/tab.js";
import { trustOnlyText } from "./trust.js";

function start(): void {
  trustOnlyText();
  startPrinting();
  const page = document.getElementById("page");
  if (page === null) return;
  if (document.documentElement.dataset["served"] !== undefined) {
    startTab(page);
    return;
  }
  try {
    const data = readData(document);
    startTheme();
    showFile(page, data);
  } catch (error) {
    append(page, h("main", null, h("h1", null, "tfadvisor"), h("p", { class: "caveat" }, error instanceof Error ? error.message : String(error))));
  }
}

start();
