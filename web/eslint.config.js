import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const unsafe = "Names from traces are text: build elements with h().";

export default defineConfig(
  { ignores: ["node_modules/"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["eslint.config.js"] } } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-non-null-assertion": "off",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({ property, message: unsafe })),
      ],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "eval"],
    },
  },
  { files: ["src/tab/server.ts"], rules: { "no-restricted-globals": ["error", "XMLHttpRequest", "WebSocket", "EventSource", "eval"] } },
);
