import type { CatalogueSnapshot, Credential, Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Timers } from "../../kit/timers.ts";
import type { Call } from "../../language/canon/call.ts";
import { requestPath } from "../../language/decisions/wire-format.ts";
import { rawPredictUpstream } from "../../language/dialects/messages/upstream/raw-predict.ts";
import { authorize } from "./connections.ts";
import { fetchOnce } from "./fetch-once.ts";
import { generationAdapterOf } from "./generation-adapter.ts";
import { modelFactsFor } from "./model-facts.ts";
import type { Transport, UpstreamFailure } from "./transport.ts";
import type { CredentialProbe } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type CredentialProbeResult = {
  readonly result: "accepted" | "refused" | "unclear";
  readonly status: number | null;
  /** For people; contains neither the key nor the provider's own message. */
  readonly detail: string;
};

export type CredentialProbeDeps = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly snapshot: CatalogueSnapshot;
  readonly owner: string | undefined;
  baseUrl(endpoint: Endpoint): string | undefined;
};

const PROBE_TIMEOUT_MS = 10_000;

/** Sends one cheap request with this credential, through the same transport as inference requests. */
export async function probeCredential(
  provider: string,
  credential: Credential,
  deps: CredentialProbeDeps,
): Promise<CredentialProbeResult> {
  const { snapshot } = deps;
  for (const endpoint of snapshot.endpoints.values()) {
    const model = snapshot.models.get(endpoint.model);
    if (endpoint.provider !== provider || endpoint.status === "retired" || model === undefined) continue;
    const baseUrl = deps.baseUrl(endpoint);
    if (baseUrl === undefined || baseUrl.includes("{")) continue;
    let result: CredentialProbeResult | undefined;
    for (const probe of credentialProbesFor(endpoint, model, credential)) {
      result = await sendProbe(provider, endpoint, `${baseUrl}${probe.path}`, probe, credential, deps);
      if (result.status !== 404 && result.status !== 405) break;
    }
    if (result !== undefined) return result;
  }
  return {
    result: "unclear",
    status: null,
    detail: `no URL of ${provider} is known to test the key with`,
  };
}

async function sendProbe(
  provider: string,
  endpoint: Endpoint,
  url: string,
  probe: CredentialProbe,
  credential: Credential,
  { transport, clock, timers, owner }: CredentialProbeDeps,
): Promise<CredentialProbeResult> {
  const headers: Record<string, string> = {
    accept: "application/json",
    "accept-encoding": "identity",
    "user-agent": "inference-gateway",
    ...(probe.method === "POST" ? { "content-type": "application/json" } : {}),
    ...probe.headers,
  };
  try {
    const request = { url, headers, body: probe.body, endpoint, nowMs: clock.nowMs() };
    Object.assign(headers, await authorize(credential, probe.auth, request));
  } catch {
    return {
      result: "refused",
      status: null,
      detail: `the identity service of ${provider} returned no token for this account`,
    };
  }
  const probeRequest = { url, headers, body: probe.body, method: probe.method, owner };
  // The model list can be long and is not needed.
  const response = await fetchOnce(transport, probeRequest, { timers, timeoutMs: PROBE_TIMEOUT_MS, bytesMax: 0 });
  return "status" in response ? resultOfStatus(provider, response.status, probe) : resultOfFailure(provider, response);
}

function resultOfStatus(
  provider: string,
  status: number,
  { acceptedStatuses, rejectedStatuses }: CredentialProbe,
): CredentialProbeResult {
  if (status === 401 || status === 403 || rejectedStatuses.includes(status))
    return { result: "refused", status, detail: `${provider} rejected the key (${status})` };
  if ((status >= 200 && status < 300) || acceptedStatuses.includes(status))
    return { result: "accepted", status, detail: `${provider} accepted the key` };
  if (status === 402 || status === 429)
    return {
      result: "accepted",
      status,
      detail: `${provider} recognized the key, but refuses requests at the moment (${status})`,
    };
  return { result: "unclear", status, detail: `${provider} returned no clear result (${status})` };
}

function resultOfFailure(provider: string, { kind }: UpstreamFailure): CredentialProbeResult {
  const what = kind === "timeout" || kind === "aborted" ? "did not respond in time" : "is unreachable";
  return { result: "unclear", status: null, detail: `${provider} ${what}` };
}

const LIST_MODELS = {
  method: "GET",
  path: "/models",
  body: "",
  acceptedStatuses: [],
  rejectedStatuses: [400],
} as const;
/** An empty request: a bad credential is rejected first, a good one gets the error about the empty body. */
const EMPTY_REQUEST = { method: "POST", body: "{}", acceptedStatuses: [400, 422], rejectedStatuses: [] } as const;

const EMPTY_CALL: Call = {
  model: "",
  turns: [],
  tools: [],
  toolChoice: undefined,
  responseFormat: { is: "text" },
  reasoning: undefined,
  maxOutputTokens: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: [],
  stream: false,
  includeUsage: false,
  parameters: [],
};

/** Probes in order of preference: the next one is used if the server does not have the previous path. */
function credentialProbesFor(endpoint: Endpoint, model: Model, credential: Credential): readonly CredentialProbe[] {
  const dialect = generationAdapterOf(endpoint)?.dialect;
  if (dialect === undefined) {
    const path = decisionsPath(endpoint);
    return path === undefined ? [] : [{ ...EMPTY_REQUEST, path, auth: "bearer", headers: {} }];
  }
  const { auth, headers } = dialect;
  const path = dialect.path(EMPTY_CALL, modelFactsFor(endpoint, model));
  const empty: CredentialProbe = { ...EMPTY_REQUEST, path, auth, headers };
  // Clouds with models in their paths or in projects list them elsewhere.
  const hasList = endpoint.dialects[0] !== "D4" && dialect !== rawPredictUpstream && credential.kind !== "minted";
  return hasList ? [{ ...LIST_MODELS, auth, headers }, empty] : [empty];
}

/** The path of an endpoint that serves decisions only. */
function decisionsPath({ decisionsInterface, decisions, upstreamModel }: Endpoint): string | undefined {
  if (decisions === null || decisionsInterface === null || decisionsInterface === "logprobs") return undefined;
  return requestPath(UPSTREAM_ADAPTERS.decisions[decisionsInterface], { upstreamModel, ...decisions });
}
