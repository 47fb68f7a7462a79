/** Puts the built script and styles into the template: one file that needs nothing else and allows nothing else. */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const ROOT = import.meta.dirname;
const BUILT_FROM = ["one_page.ts", "package-lock.json", "package.json", "page.template.html", "tsconfig.json", "vite.config.ts"];

export function onePage(): Plugin {
  return {
    name: "one-page",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let styles = "";
      for (const [file, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (file.endsWith(".css")) styles += text(part.source);
        Reflect.deleteProperty(bundle, file);
      }
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      styles = styles.trim();
      this.emitFile({ type: "asset", fileName: "page.html", source: filled({ script, styles }) });
    },
  };
}

/** Every file that the page is built from, by name: a test without Node tells from it whether the page is fresh. */
export function sourcesHash(): string {
  const inside = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(ROOT.length + 1));
  const hash = createHash("sha256");
  for (const file of [...BUILT_FROM, ...inside].sort()) {
    const content = readFileSync(join(ROOT, file));
    hash.update(`${file}\n${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

function filled({ script, styles }: { script: string; styles: string }): string {
  const values: Record<string, string> = {
    SOURCES: sourcesHash(),
    SCRIPT: script,
    STYLES: styles,
    SCRIPT_HASH: sha256(script),
    STYLES_HASH: sha256(styles),
  };
  const template = readFileSync(join(ROOT, "page.template.html"), "utf8");
  return template.replace(/%([A-Z_]+)%/g, (whole, name: string) => values[name] ?? whole);
}

function sha256(content: string): string {
  return `sha256-${createHash("sha256").update(content, "utf8").digest("base64")}`;
}

function text(source: string | Uint8Array): string {
  return typeof source === "string" ? source : new TextDecoder().decode(source);
}
