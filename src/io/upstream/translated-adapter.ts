import { SseReader } from "../../kit/sse.ts";
import type { Call } from "../../language/canon/call.ts";
import { chatClient } from "../../language/dialects/chat/client/dialect.ts";
import type { ClientDialect } from "../../language/dialects/client-dialect.ts";
import { ConverseFrames } from "../../language/dialects/converse/upstream/frames.ts";
import { geminiClient } from "../../language/dialects/gemini/client/dialect.ts";
import { CONTENT_TYPES } from "../../language/dialects/gemini/framing.ts";
import { messagesClient } from "../../language/dialects/messages/client/dialect.ts";
import { withoutNeedlessOff } from "../../language/dialects/optional-effort.ts";
import { responsesClient } from "../../language/dialects/responses/client/dialect.ts";
import { withoutOmittedTools } from "../../language/dialects/responses/client/tools.ts";
import { signatureVisibility } from "../../language/dialects/responses/reasoning-signatures.ts";
import { responsesUpstream } from "../../language/dialects/responses/upstream/dialect.ts";
import { shortenToolNames } from "../../language/dialects/tool-names.ts";
import { TranslatedStream, translatedReply } from "../../language/dialects/translation.ts";
import type { UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { withComparedModel } from "./compared-model.ts";
import { availableOutputTokens, dropUnsupported } from "./drop-unsupported.ts";
import { modelFactsFor } from "./model-facts.ts";
import { omittedFields } from "./omitted-fields.ts";
import { factsViaResponses } from "./responses-detour.ts";
import type { AdapterTarget, InboundRequest, UpstreamAdapter } from "./upstream-adapter.ts";

/** The translated path: from the canonical call to `dialect`, and from its reply to the caller's dialect. */
export function translatedAdapter(
  inbound: InboundRequest,
  dialect: UpstreamDialect,
  { endpoint, model, head: ownHead, text }: AdapterTarget,
): UpstreamAdapter {
  const head = withComparedModel(ownHead, inbound);
  const modelFacts = modelFactsFor(endpoint, model);
  const facts = dialect === responsesUpstream ? factsViaResponses(modelFacts, inbound.call) : modelFacts;
  const client = clientDialectFor(inbound);
  // The messages dialect requires an output limit, so its clients send one that ignores the length of the prompt.
  const maxOutputTokens =
    inbound.dialect === "messages" ? availableOutputTokens(endpoint, model, head.inputTokens) : facts.maxOutputTokens;
  const requested = withoutNeedlessOff(inbound.call, facts);
  const { call, omitted, adjusted } = dropUnsupported(requested, dialect, facts, maxOutputTokens);
  const named = shortenToolNames(call, dialect.toolNameMax);
  const context = { call: named.call, facts, places: client.places, text };
  return {
    surface: dialect.surface,
    path: dialect.path(call, facts),
    auth: dialect.auth,
    headers: dialect.headers,
    streamContentType: dialect.framing === "sse" ? "text/event-stream" : "application/vnd.amazon.eventstream",
    keepAliveFrame: client.keepAlive,
    effort: droppedEffort(requested, call) ?? dialect.effort?.(call, facts),
    omitted: [...omitted, ...omittedFields(inbound, call, dialect, facts)],
    adjusted,
    ...(inbound.dialect === "gemini" ? { streamResponseType: CONTENT_TYPES[inbound.reply.framing] } : {}),
    form: { ...dialect.replyShape, numbers: dialect.numbers },
    encode: () => dialect.encodeRequest(named.call, facts),
    decodeResponse(source) {
      const events = dialect.decodeReply(source, context);
      // A reply in which the model reports its own failure is unusable.
      if (events === undefined || events.some(({ is }) => is === "problem")) return undefined;
      return translatedReply(named.restoreNames(events), client, head, call, text);
    },
    openFrameReader: ({ frameMaxChars, binaryFrameMaxBytes }) =>
      dialect.framing === "sse" ? new SseReader(frameMaxChars) : new ConverseFrames(binaryFrameMaxBytes),
    openReplyStream: () => {
      const reader = named.reader(dialect.openReader(context));
      return new TranslatedStream(reader, client.openWriter(head, call), text);
    },
    decodeProblem: dialect.decodeProblem,
  };
}

function clientDialectFor(inbound: InboundRequest): ClientDialect {
  switch (inbound.dialect) {
    case "chat":
      return chatClient;
    case "responses":
      return responsesClient(withoutOmittedTools(inbound.echo), signatureVisibility(inbound.body.value, inbound.echo));
    case "messages":
      return messagesClient;
    case "gemini":
      return geminiClient(inbound.reply);
  }
}

/** A reasoning effort that was dropped is the provider's choice. */
function droppedEffort(requested: Call, sent: Call): "untold" | undefined {
  return requested.reasoning !== undefined && sent.reasoning === undefined ? "untold" : undefined;
}
