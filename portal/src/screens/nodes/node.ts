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

export const SERVERS = [
  { value: "http://127.0.0.1:11434/v1", label: "Ollama" },
  { value: "http://127.0.0.1:8000/v1", label: "vLLM" },
  { value: "http://127.0.0.1:8080/v1", label: "llama.cpp" },
  { value: "http://127.0.0.1:1234/v1", label: "LM Studio" },
] as const;

const TOKEN_PLACEHOLDER = "nt_svc_…";
const NODE_IMAGE = "node:22-alpine";

const gatewayUrl = () => baseUrl().replace(/\/v1$/, "");

const agentUrl = () => `${gatewayUrl()}/node/agent.mjs`;

/** Downloads the agent of the gateway's version. */
export const downloadCommand = () => `curl -fsSLO ${agentUrl()}`;

/** Commands that download and run the agent; the container downloads it at every start, so a restart updates it. */
export function agentSnippets(
  upstream: string,
  { name, token }: { readonly name: string; readonly token: string } = { name: "node", token: TOKEN_PLACEHOLDER },
): readonly Snippet[] {
  const options = `--url ${gatewayUrl()} --upstream ${upstream}`;
  return [
    {
      id: "node",
      label: "Node.js",
      code: `${downloadCommand()} && \\\n  GATEWAY_NODE_TOKEN=${token} \\\n  node agent.mjs ${options}`,
    },
    {
      id: "docker",
      label: "Docker",
      code: [
        `docker run --detach --name inference-node-${name} --restart unless-stopped --network host`,
        `-e GATEWAY_NODE_TOKEN=${token} ${NODE_IMAGE}`,
        // The shell in the container continues a line after &&.
        `sh -c 'wget -qO /tmp/agent.mjs ${agentUrl()} &&\n    exec node /tmp/agent.mjs ${options}'`,
      ].join(" \\\n  "),
    },
  ];
}
