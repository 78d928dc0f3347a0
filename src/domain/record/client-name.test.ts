import { expect, test } from "vitest";
import { clientName } from "./request-shape.ts";

test.each([
  ["claude-cli/2.1.325 (external, sdk-cli)", "Claude Code"],
  ["codex_exec/0.166.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.166.0)", "Codex"],
  ["opencode/1.18.18 ai-sdk/provider-utils/4.0.0", "opencode"],
  ["ai/7.0.169 ai-sdk/openai-compatible/3.0.90 runtime/node.js/26", "Vercel AI SDK"],
  ["OpenAI/JS 7.53.0", "OpenAI SDK for JavaScript"],
  ["AsyncOpenAI/Python 3.22.1", "OpenAI SDK for Python"],
  ["Anthropic/JS 1.8.0", "Anthropic SDK for JavaScript"],
  ["langchainjs-openai/1.0.0", "LangChain"],
  ["curl/7.88.1", null],
  ["Mozilla/5.0", null],
  [undefined, null],
])("%s is %s", (userAgent, name) => {
  expect(clientName(userAgent)).toBe(name);
});
