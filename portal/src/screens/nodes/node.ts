import type { ApiResponse, Row } from "../../api/client.ts";
import { baseUrl } from "../../base-url.ts";
import type { Tone } from "../../ui/badge.tsx";
import type { Snippet } from "../../ui/code-block.tsx";

export type NodeRow = Row<"manageListNodes">;
export type NodeDetail = ApiResponse<"manageShowNode">;
export type IssuedNode = ApiResponse<"manageCreateNode">;

/** Nodes connect and disconnect at any time. */
export const REFETCH_MS = 4_000;

export const STATES: Readonly<Record<NodeRow["state"], { readonly label: string; readonly tone: Tone }>> = {
  connected: { label: "Connected", tone: "good" },
  set_aside: { label: "Circuit open", tone: "warn" },
  offline: { label: "Offline", tone: "neutral" },
};

const SERVERS = [
  { id: "ollama", label: "Ollama", upstream: "http://127.0.0.1:11434/v1" },
  { id: "vllm", label: "vLLM", upstream: "http://127.0.0.1:8000/v1" },
  { id: "llama.cpp", label: "llama.cpp", upstream: "http://127.0.0.1:8080/v1" },
  { id: "lm-studio", label: "LM Studio", upstream: "http://127.0.0.1:1234/v1" },
] as const;

/** Connect commands per local server. The token is read from stdin to keep it out of the shell history. */
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
