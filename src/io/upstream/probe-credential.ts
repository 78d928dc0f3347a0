import type { CatalogueSnapshot, Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Timers } from "../../kit/timers.ts";
import { authorize } from "./authorize.ts";
import { fetchOnce } from "./fetch-once.ts";
import type { Transport, UpstreamFailure } from "./transport.ts";
import type { CredentialProbe } from "./upstream-adapter.ts";
import { credentialProbesFor } from "./upstream-adapters.ts";

/** What a provider makes of a key. */
export type CredentialProbeResult = {
  readonly result: "accepted" | "refused" | "unclear";
  readonly status: number | null;
  /** A sentence for people; nothing of the key and nothing of the provider's own words is in it. */
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

/** One cheap call to the provider with this credential, through the transport that requests go through. */
export async function probeCredential(
  provider: string,
  credential: Credential,
  parts: CredentialProbeDeps,
): Promise<CredentialProbeResult> {
  const { snapshot } = parts;
  for (const endpoint of snapshot.endpoints.values()) {
    const model = snapshot.models.get(endpoint.model);
    if (endpoint.provider !== provider || endpoint.status === "retired" || model === undefined) continue;
    const baseUrl = parts.baseUrl(endpoint);
    if (baseUrl === undefined || baseUrl.includes("{")) continue;
    let found: CredentialProbeResult | undefined;
    for (const probe of credentialProbesFor(endpoint, model, credential)) {
      found = await ask(provider, endpoint, `${baseUrl}${probe.path}`, probe, credential, parts);
      if (found.status !== 404 && found.status !== 405) break;
    }
    if (found !== undefined) return found;
  }
  return {
    result: "unclear",
    status: null,
    detail: `no address of ${provider} is known that the key could be tried at`,
  };
}

async function ask(
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
    const outgoing = { url, headers, body: probe.body, endpoint, nowMs: clock.nowMs() };
    Object.assign(headers, await authorize(credential, probe.auth, outgoing));
  } catch {
    return { result: "refused", status: null, detail: `the authority of ${provider} gave no token for this account` };
  }
  const request = { url, headers, body: probe.body, method: probe.method, owner };
  // Lists of models can be long, and nobody reads this one.
  const answer = await fetchOnce(transport, request, { timers, timeoutMs: PROBE_TIMEOUT_MS, bytesMax: 0 });
  return "status" in answer ? judged(provider, answer.status, probe) : unreached(provider, answer);
}

function judged(
  provider: string,
  status: number,
  { acceptedStatuses, rejectedStatuses }: CredentialProbe,
): CredentialProbeResult {
  if (status === 401 || status === 403 || rejectedStatuses.includes(status))
    return { result: "refused", status, detail: `${provider} refused it (${status})` };
  if ((status >= 200 && status < 300) || acceptedStatuses.includes(status))
    return { result: "accepted", status, detail: `${provider} accepted it` };
  if (status === 402 || status === 429)
    return { result: "accepted", status, detail: `${provider} knows it, and lets nothing through now (${status})` };
  return { result: "unclear", status, detail: `${provider} did not say (${status})` };
}

function unreached(provider: string, { kind }: UpstreamFailure): CredentialProbeResult {
  const what = kind === "timeout" || kind === "aborted" ? "did not answer in time" : "could not be reached";
  return { result: "unclear", status: null, detail: `${provider} ${what}` };
}
