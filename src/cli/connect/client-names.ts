/** The clients that `gateway connect` can configure. */
export const CLIENT_NAMES = [
  "claude-code",
  "codex",
  "opencode",
  "continue",
  "qwen-code",
  "cline",
  "aider",
  "pi",
] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];
