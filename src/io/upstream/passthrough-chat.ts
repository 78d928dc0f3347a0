import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import { isNodeProvider } from "../../domain/record/request-shape.ts";
import { effortsOf } from "../../domain/routing/filter.ts";
import { patchMembers } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import { effortFor } from "../../language/canon/effort.ts";
import { chatClient } from "../../language/dialects/chat/client/dialect.ts";
import { decodePassthroughReply } from "../../language/dialects/chat/passthrough/reply.ts";
import {
  historyPatches,
  outputLimitOf,
  type PassthroughChatFacts,
  requestPatches,
} from "../../language/dialects/chat/passthrough/request.ts";
import { PassthroughChatStream } from "../../language/dialects/chat/passthrough/stream.ts";
import { REPLY_SHAPE as CHAT_REPLY_SHAPE } from "../../language/dialects/chat/upstream/dialect.ts";
import { decodeProblem } from "../../language/dialects/chat/upstream/errors.ts";
import type { AdapterTarget, InboundChat, UpstreamAdapter } from "./upstream-adapter.ts";

/** Chat to chat: the caller's bytes with named patches, the provider's bytes with the gateway's id. */
export function passthroughChat(
  { request, call, body }: InboundChat,
  { endpoint, model, head, text }: AdapterTarget,
): UpstreamAdapter {
  const facts = passthroughFactsFor(endpoint, model);
  // A node's own name for the model is no name that a request could send.
  const ownModel = isNodeProvider(endpoint.provider) ? head.model : undefined;
  const history = historyPatches(request, body, { quirks: facts.quirks, signer: reasoningSignerOf(model) });
  return {
    surface: "chat",
    path: "/chat/completions",
    auth: "bearer",
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: chatClient.keepAlive,
    effort: call.reasoning === undefined ? undefined : effortFor(call, facts),
    omitted: history?.dropped,
    encode() {
      const patches = requestPatches(request, call, facts);
      if (history !== undefined) patches.push(...history.patches);
      return patchMembers(body, patches);
    },
    form: CHAT_REPLY_SHAPE,
    decodeResponse: (source) => decodePassthroughReply(source, head.id, ownModel, text),
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream: () => new PassthroughChatStream(head, call.includeUsage, ownModel, text),
    decodeProblem,
  };
}

function passthroughFactsFor(endpoint: Endpoint, model: Model): PassthroughChatFacts {
  return {
    upstreamModel: endpoint.upstreamModel,
    outputLimit: outputLimitOf(endpoint),
    efforts: effortsOf(endpoint, model),
    neverReasons: endpoint.features.reasoning === false,
    neverSamples: endpoint.features.sampling === false,
    quirks: endpoint.quirks ?? [],
  };
}

/** Hosts of open weights do not have the creator's signing key. */
function reasoningSignerOf({ creator, openWeights }: Model): string | null {
  return openWeights ? null : creator;
}
