import { type Endpoint, effortsOf, type Model } from "../../domain/catalogue/catalogue.ts";
import { patchMembers } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import { effortFor } from "../../language/canon/effort.ts";
import { chatClient } from "../../language/dialects/chat/client/dialect.ts";
import { decodeDirectReply } from "../../language/dialects/chat/direct/reply.ts";
import {
  type DirectChatFacts,
  historyPatches,
  OUTPUT_LIMITS,
  type OutputLimit,
  requestPatches,
} from "../../language/dialects/chat/direct/request.ts";
import { DirectChatStream } from "../../language/dialects/chat/direct/stream.ts";
import { decodeProblem } from "../../language/dialects/chat/upstream/errors.ts";
import { type InboundChat, type Lane, NOTHING_DROPPED, type Target } from "./upstream-adapter.ts";

/** Chat to chat: the caller's bytes with named patches, the provider's bytes with our id. */
export function directChat({ request, call, body }: InboundChat, { endpoint, model, head }: Target): Lane {
  const facts = directFactsOf(endpoint, model);
  const history = historyPatches(request, body, { quirks: facts.quirks, signer: sealerOf(model) });
  return {
    surface: "chat",
    path: "/chat/completions",
    auth: "bearer",
    headers: {},
    streamType: "text/event-stream",
    keepAlive: chatClient.keepAlive,
    effort: call.reasoning === undefined ? undefined : effortFor(call, facts),
    dropped: history?.dropped ?? NOTHING_DROPPED,
    encode() {
      const patches = requestPatches(request, call, facts);
      if (history !== undefined) patches.push(...history.patches);
      return patchMembers(body, patches);
    },
    decodeWhole: (answer) => decodeDirectReply(answer, head.id),
    openFrames: (frameMaxChars) => new SseReader(frameMaxChars),
    openStream: () => new DirectChatStream(head.id, call.includeUsage),
    decodeProblem,
  };
}

function directFactsOf(endpoint: Endpoint, model: Model): DirectChatFacts {
  return {
    upstreamModel: endpoint.upstreamModel,
    outputLimit: outputLimitOf(endpoint),
    efforts: effortsOf(endpoint, model),
    quirks: endpoint.quirks ?? [],
  };
}

/** Who runs open weights has no key of their creator. */
function sealerOf({ creator, openWeights }: Model): string | null {
  return openWeights ? null : creator;
}

/** A quirk decides; where there is none, a list of parameters that has only one of the two names. */
export function outputLimitOf({ quirks, supportedParams }: Endpoint): OutputLimit | null {
  if (quirks?.includes("max-completion-tokens")) return "max_completion_tokens";
  if (quirks?.includes("max-tokens")) return "max_tokens";
  if (supportedParams === null) return null;
  const known = OUTPUT_LIMITS.filter((name) => supportedParams.includes(name));
  return known.length === 1 ? (known[0] ?? null) : null;
}
