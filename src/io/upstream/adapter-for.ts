import { modelFactsFor } from "./model-facts.ts";
import { messagesRouteFor } from "./passthrough-messages.ts";
import { isEffortTooLowForTools } from "./passthrough-responses.ts";
import { usesResponsesApi } from "./responses-detour.ts";
import { translatedAdapter } from "./translated-adapter.ts";
import type { AdapterTarget, InboundRequest, UpstreamAdapter } from "./upstream-adapter.ts";
import { generationAdapterOf, UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";
import { usageCeilingFor } from "./usage-ceiling.ts";

/** The adapter for one request and one endpoint: passthrough if both use the same wire format, otherwise translated. */
export function adapterFor(inbound: InboundRequest, target: AdapterTarget): UpstreamAdapter {
  const format = formatFor(inbound, target);
  const adapter = passthroughAdapter(format, inbound, target) ?? translatedAdapter(inbound, format.dialect, target);
  adapter.maxUsage = () => usageCeilingFor(inbound, target);
  return adapter;
}

type GenerationAdapter = NonNullable<ReturnType<typeof generationAdapterOf>>;

/** The only place that chooses between the two formats of an endpoint that also has the Responses API. */
function formatFor(inbound: InboundRequest, { endpoint, model }: AdapterTarget): GenerationAdapter {
  const { responses } = UPSTREAM_ADAPTERS.generation;
  if (inbound.dialect === "responses" && endpoint.responsesApi) return responses;
  const hasPassthrough = inbound.dialect === "messages" && messagesRouteFor(endpoint) !== undefined;
  const isDetour =
    !hasPassthrough &&
    endpoint.responsesApi &&
    usesResponsesApi(endpoint, inbound.call, () => modelFactsFor(endpoint, model));
  if (isDetour) return responses;
  const format = generationAdapterOf(endpoint);
  if (format === undefined) throw new Error(`${endpoint.id} speaks no dialect that ${inbound.dialect} can reach`);
  return format;
}

function passthroughAdapter(
  { passthrough }: GenerationAdapter,
  inbound: InboundRequest,
  target: AdapterTarget,
): UpstreamAdapter | undefined {
  switch (inbound.dialect) {
    case "chat":
      return passthrough?.chat?.(inbound, target);
    case "messages":
      return passthrough?.messages?.(inbound, target);
    case "responses":
      return passthrough?.responses?.(inbound, target);
  }
}

/** Whether a reasoning effort that a router chose conflicts with something that the caller requested. */
export function isEffortConflicting({ call, dialect }: InboundRequest, target: Omit<AdapterTarget, "head">): boolean {
  const { endpoint, model } = target;
  if (dialect === "responses" && endpoint.responsesApi) return isEffortTooLowForTools(call, target);
  return generationAdapterOf(endpoint)?.dialect.conflictsWithEffort?.(call, modelFactsFor(endpoint, model)) === true;
}
