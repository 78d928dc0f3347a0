/** The first matching user agent pattern names the application. */
export const CLIENTS: readonly (readonly [RegExp, string])[] = [
  [/^claude-cli\//i, "Claude Code"],
  [/^codex[_-]/i, "Codex"],
  [/^geminicli\//i, "Gemini CLI"],
  [/^google-genai-sdk\/.*gl-node/i, "Google Gen AI SDK for JavaScript"],
  [/^google-genai-sdk\/.*gl-python/i, "Google Gen AI SDK for Python"],
  [/^opencode\//i, "opencode"],
  [/^continue\b/i, "Continue"],
  [/^librechat\b/i, "LibreChat"],
  [/^n8n\b/i, "n8n"],
  [/^cursor\b/i, "Cursor"],
  [/^langchain/i, "LangChain"],
  [/\bai-sdk\/|^ai\/\d/i, "Vercel AI SDK"],
  [/^(?:async)?openai\/js\b/i, "OpenAI SDK for JavaScript"],
  [/^(?:async)?openai\/python\b/i, "OpenAI SDK for Python"],
  [/^(?:async)?anthropic\/js\b/i, "Anthropic SDK for JavaScript"],
  [/^(?:async)?anthropic\/python\b/i, "Anthropic SDK for Python"],
];
