import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import { effortsOf } from "../../domain/routing/filter.ts";
import { neverReasons } from "../../domain/routing/need-support.ts";
import { patchMembers } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import type { Call, Effort } from "../../language/canon/call.ts";
import { nearestEffort } from "../../language/canon/effort.ts";
import { decodePassthroughReply, type ResponseOwnership } from "../../language/dialects/responses/passthrough/reply.ts";
import {
  type PassthroughResponsesFacts,
  requestPatches,
} from "../../language/dialects/responses/passthrough/request.ts";
import { PassthroughResponsesStream } from "../../language/dialects/responses/passthrough/stream.ts";
import { REPLY_SHAPE as RESPONSES_REPLY_SHAPE } from "../../language/dialects/responses/upstream/dialect.ts";
import { decodeProblem } from "../../language/dialects/responses/upstream/errors.ts";
import { encryptsReasoning } from "./responses-detour.ts";
import type { AdapterTarget, InboundResponses, UpstreamAdapter } from "./upstream-adapter.ts";

/** Responses to responses: the caller's bytes with named patches, the provider's bytes with the gateway's id and state. */
export function passthroughResponses(
  inbound: InboundResponses,
  { endpoint, model, head, excludedTools: droppedTools }: AdapterTarget,
): UpstreamAdapter {
  const effort = sentEffort(inbound.call, endpoint, model);
  const { patches, dropped: omitted } = requestPatches(inbound, {
    ...passthroughFactsFor(endpoint),
    effort,
    droppedTools,
  });
  const ownership: ResponseOwnership = { head, provider: endpoint.provider, echo: inbound.echo };
  return {
    surface: "responses",
    path: "/responses",
    auth: "bearer",
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: ": keep-alive\n\n",
    effort,
    omitted,
    echoedChars: inbound.body.text.length,
    encode: () => patchMembers(inbound.body, patches),
    form: RESPONSES_REPLY_SHAPE,
    decodeResponse: (source) => decodePassthroughReply(source, ownership),
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream: () => new PassthroughResponsesStream(ownership),
    decodeProblem: decodeProblem,
  };
}

function sentEffort({ reasoning }: Call, endpoint: Endpoint, model: Model): Effort | undefined {
  return reasoning && nearestEffort(reasoning, effortsOf(endpoint, model));
}

/** Providers reject their hosted tools together with minimal reasoning effort. */
export function isEffortTooLowForTools(
  call: Call,
  { endpoint, model, excludedTools }: Omit<AdapterTarget, "head">,
): boolean {
  const hosted = call.extras?.some(
    ({ forwarding, toolIndex }) =>
      forwarding === "native" && (toolIndex === undefined || !excludedTools?.includes(toolIndex)),
  );
  return hosted === true && sentEffort(call, endpoint, model) === "minimal";
}

function passthroughFactsFor(endpoint: Endpoint): PassthroughResponsesFacts {
  const { upstreamModel, provider } = endpoint;
  const reasoning = { encryptsReasoning: encryptsReasoning(endpoint), neverReasons: neverReasons(endpoint) };
  return { upstreamModel, provider, ...reasoning };
}
