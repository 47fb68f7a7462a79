/** A button that copies text, and says whether that worked. */
import { h } from "../dom.js";

const SHOWN_MS = 2000;

export function copyButton(text: string, name: string): HTMLElement {
  const words = h("span", { "aria-live": "polite" }, "Copy");
  const say = (done: string): void => {
    words.textContent = done;
    setTimeout(() => { words.textContent = "Copy"; }, SHOWN_MS);
  };
  return h("button", { type: "button", class: "copy", "aria-label": `Copy ${name}`, on: { click: () => { void copied(text).then((done) => { say(done ? "Copied" : "Select and copy"); }); } } }, words);
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text); // a page opened from a file may have no clipboard
  }
}

function copiedBySelection(text: string): boolean {
  const area = h("textarea", { class: "unseen", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way left without a clipboard
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
