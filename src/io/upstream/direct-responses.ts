import { type Endpoint, effortsOf } from "../../domain/catalogue/catalogue.ts";
import { patchMembers } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import { nearestEffort } from "../../language/canon/effort.ts";
import { decodeReply } from "../../language/dialects/responses/direct-reply.ts";
import { type DirectFacts, directRequest } from "../../language/dialects/responses/direct-request.ts";
import type { Ownership } from "../../language/dialects/responses/direct-response.ts";
import { DirectStream } from "../../language/dialects/responses/direct-stream.ts";
import { decodeRefusal } from "../../language/dialects/responses/errors.ts";
import type { InboundResponses, Lane, Target } from "./lane.ts";
import { sealsThoughts } from "./through-responses.ts";

/** Responses to responses: the caller's bytes with named patches, the provider's bytes with our id and our state. */
export function directResponses(inbound: InboundResponses, { endpoint, model, head, leftOut }: Target): Lane {
  const { reasoning } = inbound.call;
  const effort = reasoning && nearestEffort(reasoning, effortsOf(endpoint, model));
  const { patches, dropped } = directRequest(inbound, { ...factsOf(endpoint), effort, leftOut });
  const ownership: Ownership = { head, provider: endpoint.provider, echo: inbound.echo };
  return {
    surface: "responses",
    path: "/responses",
    auth: "bearer",
    headers: {},
    streamType: "text/event-stream",
    keepAlive: ": keep-alive\n\n",
    effort,
    dropped,
    repeatedChars: inbound.body.text.length,
    encode: () => patchMembers(inbound.body, patches),
    decodeWhole: (bytes) => decodeReply(bytes, ownership),
    openFrames: (frameMaxChars) => new SseReader(frameMaxChars),
    openStream: () => new DirectStream(ownership),
    decodeProblem: decodeRefusal,
  };
}

function factsOf(endpoint: Endpoint): DirectFacts {
  const { upstreamModel, provider } = endpoint;
  return { upstreamModel, provider, sealsThoughts: sealsThoughts(endpoint) };
}
