/** Deviations that the code knows, by the names that the catalogue has for them; docs/guides/catalogue.md says what each means. */
export const QUIRKS = [
  "all-roles",
  "cache-marks",
  "default-sampling",
  "effort-high-or-none",
  "encrypted-reasoning",
  "json-or-tools",
  "max-completion-tokens",
  "max-tokens",
  "one-sampling",
  "plain-history",
  "raw-predict",
  "reasoning-in-history",
  "sampling-or-thinking",
  "schemaless-chat",
  "signed-tool-calls",
  "stops-4",
  "strict-turns",
  "thinks-always",
  "thoughtless-history",
  "tool-ids-9",
  "toolless-chat",
  "tools-or-thinking",
  "unsummarized",
  "usage-unasked",
] as const;

export type Quirk = (typeof QUIRKS)[number];
