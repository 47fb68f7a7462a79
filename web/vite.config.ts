import { defineConfig } from "vitest/config";
import { onePage } from "./one_page.js";

export default defineConfig({
  plugins: [onePage()],
  build: {
    outDir: "../tfadvisor/report/forms",
    emptyOutDir: false,
    copyPublicDir: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: { input: "src/main.ts", output: { format: "iife", entryFileNames: "page.js" } },
  },
  test: { environment: "jsdom", include: ["test/**/*.test.ts"] },
});
