import { type Json, startGateway, type Tenant, type TestGateway } from "./gateway.ts";
import { chatBody, connectedTo, credentialOf, QUIET } from "./scene.ts";
import { type Script, startUpstream, type Upstream } from "./upstream.ts";

export const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
export const ANSWER = {
  id: "up-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  // Some servers list their models themselves.
  usage: { ...USAGE, cost: 0.25, currency: "USD" },
};
const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: "up-1", object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`;
export const STREAM = [
  chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: { content: "lo." }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  chunk({ choices: [], usage: USAGE }),
  "data: [DONE]\n\n",
];
const REFUSED: Script = {
  status: 401,
  json: { error: { message: "Incorrect API key provided", code: "invalid_key" } },
};

/** The key of a request, whatever header it is in. */
export const keyOf = ({ headers }: { headers: Record<string, unknown> }) =>
  String(headers["authorization"] ?? headers["x-api-key"] ?? headers["x-goog-api-key"]).replace("Bearer ", "");

/** Accepts only requests with one of these keys. */
export function requireKey(upstream: Upstream, keys: Set<string>): void {
  upstream.always((request: Json): Script => {
    if (!keys.has(keyOf(request))) return REFUSED;
    if (request.method === "GET") return { json: { object: "list", data: [] } };
    return request.json?.stream === true ? { frames: STREAM } : { json: ANSWER };
  });
}

/** A workspace's own key, which must never be shown again. */
export const OWN = (name: string) => `own-canary-${name}-81f3b0c2d4e5`;

export type OwnKeyScene = {
  readonly gateway: TestGateway;
  readonly deepinfra: Upstream;
  readonly nebius: Upstream;
  /** Keys that deepinfra accepts; nebius accepts the operator's and these as well. */
  readonly letIn: Set<string>;
  tenant(credit?: string): Promise<Tenant>;
  put(tenant: Tenant, provider: string, body: object): Promise<{ status: number; body: Json; text: string }>;
  chat(
    tenant: Tenant,
    more?: Record<string, unknown>,
  ): Promise<{ status: number; headers: Headers; body: Json; text: string }>;
  last(tenant: Tenant): Promise<Json>;
  close(): Promise<void>;
};

/** `deepinfra` and `nebius` serve one model; the operator has connected only the second. */
export async function openOwnKeyScene(env: Record<string, string> = {}): Promise<OwnKeyScene> {
  const deepinfra = await startUpstream();
  const nebius = await startUpstream();
  const letIn = new Set<string>([credentialOf("deepinfra"), credentialOf("nebius")]);
  requireKey(deepinfra, letIn);
  requireKey(nebius, letIn);
  const { PROVIDER_DEEPINFRA_API_KEY, ...settings } = connectedTo(
    new Map<string, Upstream>([
      ["deepinfra", deepinfra],
      ["nebius", nebius],
    ]),
  );
  const gateway = await startGateway({ env: { ...settings, ...QUIET, ...env } });
  return {
    gateway,
    deepinfra,
    nebius,
    letIn,
    tenant: (credit = "100") => gateway.tenant({ credit }),
    put: (tenant, provider, body) =>
      gateway.call(gateway.adminToken, `/manage/workspaces/${tenant.slug}/providers/${provider}`, {
        method: "PUT",
        body,
      }),
    chat: (tenant, more = {}) => gateway.call(tenant.key, "/v1/chat/completions", { body: chatBody(more) }),
    last: async (tenant) => (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1`)).data[0],
    async close() {
      await gateway.close();
      await Promise.all([deepinfra.close(), nebius.close()]);
    },
  };
}

export const inferences = (upstream: Upstream) => upstream.requests.filter(({ method }) => method === "POST");
