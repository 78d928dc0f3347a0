import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { isJsonObject } from "../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../kit/json-document.ts";
import { SseReader } from "../../kit/sse.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { ROUTING_HINT_FIELDS } from "../../language/canon/routing-hints.ts";
import { CONTENT_TYPES, KEEP_ALIVE } from "../../language/dialects/gemini/framing.ts";
import { decodePassthroughReply } from "../../language/dialects/gemini/passthrough/reply.ts";
import { encodePassthrough, hasSealedSignatures } from "../../language/dialects/gemini/passthrough/request.ts";
import { PassthroughGeminiStream } from "../../language/dialects/gemini/passthrough/stream.ts";
import { decodeProblem } from "../../language/dialects/gemini/upstream/errors.ts";
import { encodePath } from "../../language/dialects/gemini/upstream/request.ts";
import { modelFactsFor } from "./model-facts.ts";
import type { AdapterTarget, InboundGemini, UpstreamAdapter } from "./upstream-adapter.ts";

/** The endpoint takes bodies of the Gemini dialect as they are. */
export function speaksGemini({ dialects: [dialect] }: Endpoint): boolean {
  return dialect === "D3";
}

/** Gemini to Gemini: the caller's bytes with named patches, the provider's bytes with the gateway's id. */
export function passthroughGemini(inbound: InboundGemini, { endpoint, model, head }: AdapterTarget): UpstreamAdapter {
  const { call, body, reply } = inbound;
  return {
    surface: "chat",
    path: encodePath(call, modelFactsFor(endpoint, model)),
    auth: "x-goog-api-key",
    headers: {},
    streamContentType: "text/event-stream",
    streamResponseType: CONTENT_TYPES[reply.framing],
    keepAliveFrame: KEEP_ALIVE,
    effort: call.reasoning?.isEffortDefaulted === true ? "untold" : undefined,
    omitted: hasSealedSignatures(body) ? ["contents[].parts[].thoughtSignature"] : [],
    encode: () => encodePassthrough(body),
    decodeResponse: (source) => decodePassthroughReply(source, head.id),
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream: () => new PassthroughGeminiStream(head.id, reply.framing),
    decodeProblem,
  };
}

/** A conversation alone is counted everywhere; with anything beside it, it needs a member around it that some hosts lack. */
export function geminiCountAdapter(inbound: InboundGemini, target: AdapterTarget): UpstreamAdapter | undefined {
  const { endpoint } = target;
  if (!speaksGemini(endpoint)) return undefined;
  const { upstreamModel } = endpoint;
  const isBare = inbound.body.members.spans.every(({ key }) => BARE_MEMBERS.has(key));
  const model = { key: "model", json: JSON.stringify(`models/${upstreamModel}`) };
  return {
    ...passthroughGemini(inbound, target),
    path: `/models/${encodeURIComponent(upstreamModel)}:countTokens`,
    encode: () =>
      isBare
        ? encodePassthrough(inbound.body)
        : `{"generateContentRequest":${encodePassthrough(inbound.body, [model])}}`,
    decodeResponse: decodeCount,
  };
}

const BARE_MEMBERS: ReadonlySet<string> = new Set(["contents", "model", ...ROUTING_HINT_FIELDS]);

function decodeCount(source: JsonSource): WholeReply | undefined {
  const { value, text } = JsonDocument.of(source);
  if (!isJsonObject(value) || !Number.isInteger(value["totalTokens"])) return undefined;
  return { usage: undefined, upstreamId: null, outputWeight: 0, render: () => text };
}
