/** Lets nothing become markup: the only string that may be assigned to an element's content is the empty one, which ECharts uses to clear. */

interface Factory {
  createPolicy(name: string, rules: { createHTML: (markup: string) => string }): unknown;
}

export function trustOnlyText(): void {
  const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
  factory?.createPolicy("default", {
    createHTML: (markup) => {
      if (markup !== "") throw new TypeError("this page builds no markup from text");
      return markup;
    },
  });
}
