/** Ways of telling a model how hard to think that the code knows; docs/guides/catalogue.md says what each means. */
export const THINKING_WAYS = [
  "adaptive",
  "always",
  "between_tools",
  "budget",
  "effort",
  "fixed",
  "level",
  "nova",
] as const;

export type ThinkingWay = (typeof THINKING_WAYS)[number];
