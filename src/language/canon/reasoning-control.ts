/** Ways of telling a model how hard to think that the code knows; docs/guides/catalogue.md says what each means. */
export const REASONING_CONTROLS = [
  "adaptive",
  "always",
  "between_tools",
  "budget",
  "effort",
  "fixed",
  "level",
  "nova",
] as const;

export type ReasoningControl = (typeof REASONING_CONTROLS)[number];
