/** Known ways to control a model's reasoning; docs/guides/catalogue.md explains each. */
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
