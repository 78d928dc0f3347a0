import type { ApiResponse, Row } from "../../api/client.ts";
import { baseUrl } from "../../base-address.ts";
import type { Tone } from "../../ui/badge.tsx";
import type { Snippet } from "../../ui/code-block.tsx";

export type NodeRow = Row<"manageListNodes">;
export type NodeDetail = ApiResponse<"manageShowNode">;
export type IssuedNode = ApiResponse<"manageCreateNode">;

/** How often the screen looks again: nodes come and go by themselves. */
export const LOOK_EVERY_MS = 4_000;

export const STATES: Readonly<Record<NodeRow["state"], { readonly word: string; readonly tone: Tone }>> = {
  connected: { word: "connected", tone: "good" },
  set_aside: { word: "set aside", tone: "warn" },
  offline: { word: "offline", tone: "neutral" },
};

const SERVERS = [
  { id: "ollama", label: "Ollama", upstream: "http://127.0.0.1:11434/v1" },
  { id: "vllm", label: "vLLM", upstream: "http://127.0.0.1:8000/v1" },
  { id: "llama.cpp", label: "llama.cpp", upstream: "http://127.0.0.1:8080/v1" },
  { id: "lm-studio", label: "LM Studio", upstream: "http://127.0.0.1:1234/v1" },
] as const;

/** What is typed on the machine, for each local server; the token is pasted, so that no history keeps it. */
export function installSnippets(): readonly Snippet[] {
  const url = baseUrl().replace(/\/v1$/, "");
  return SERVERS.map(({ id, label, upstream }) => ({
    id,
    label,
    code: [
      "read -rs GATEWAY_NODE_TOKEN && export GATEWAY_NODE_TOKEN   # paste the token, then Enter",
      `bin/gateway node connect --url ${url} --upstream ${upstream}`,
    ].join("\n"),
  }));
}
