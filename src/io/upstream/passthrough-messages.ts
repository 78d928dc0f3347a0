import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { effortsOf } from "../../domain/routing/filter.ts";
import { type MemberPatch, patchMembers } from "../../kit/json.ts";
import { percentEncode } from "../../kit/percent-encode.ts";
import { SseReader } from "../../kit/sse.ts";
import { ROUTING_HINT_FIELDS } from "../../language/canon/routing-hints.ts";
import { decodeProblem as decodeAwsProblem } from "../../language/dialects/converse/upstream/errors.ts";
import { ConverseFrames } from "../../language/dialects/converse/upstream/frames.ts";
import { messagesClient } from "../../language/dialects/messages/client/dialect.ts";
import { decodePassthroughReply, type OwnMembers } from "../../language/dialects/messages/passthrough/reply.ts";
import {
  EAGER_STREAMING_BETA,
  EAGER_STREAMING_PATH,
  effortPatches,
  hasForeignReasoning,
  stripUnknownHints,
  substituteEffort,
  withoutForeignReasoning,
} from "../../language/dialects/messages/passthrough/request.ts";
import { InvokeModelStream, PassthroughMessagesStream } from "../../language/dialects/messages/passthrough/stream.ts";
import {
  REPLY_SHAPE as MESSAGES_REPLY_SHAPE,
  messagesUpstream,
} from "../../language/dialects/messages/upstream/dialect.ts";
import {
  decodeRawPredictProblem,
  RAW_PREDICT,
  RAW_PREDICT_VERSION,
  rawPredictPath,
} from "../../language/dialects/messages/upstream/raw-predict.ts";
import { withComparedModel } from "./compared-model.ts";
import type { AdapterTarget, FrameLimits, InboundMessages, UpstreamAdapter } from "./upstream-adapter.ts";

const CLAUDE_PREFIX = "anthropic/claude-";
/** How much of a beta name is reported. */
const NAME_CHARS_MAX = 64;
/** Sent if the caller sends no version. */
const DEFAULT_VERSION = "2023-06-01";
const INVOKE_VERSION = "bedrock-2023-05-31";
/** InvokeModel rejects these. */
const INVOKE_UNSUPPORTED_FIELDS = ["tags"] as const;

/** The APIs that take a body of the messages dialect as it is. */
export type MessagesRoute = "api" | "invoke" | "raw_predict";

/** Undefined: requests of the messages dialect need translation. */
export function messagesRouteFor({ dialects: [dialect], model, quirks }: Endpoint): MessagesRoute | undefined {
  if (dialect === "D2") return quirks?.includes(RAW_PREDICT) ? "raw_predict" : "api";
  return dialect === "D4" && model.startsWith(CLAUDE_PREFIX) ? "invoke" : undefined;
}

/** Messages to messages: the caller's bytes with named patches, the provider's bytes with the gateway's id. */
export function passthroughMessages(inbound: InboundMessages, target: AdapterTarget): UpstreamAdapter | undefined {
  const route = messagesRouteFor(target.endpoint);
  return route === undefined ? undefined : messagesAdapter(inbound, target, route);
}

export function messagesAdapter(
  inbound: InboundMessages,
  target: AdapterTarget,
  route: MessagesRoute,
): UpstreamAdapter {
  const { head } = target;
  const own = { id: head.id, model: inbound.comparesModel ? withComparedModel(head, inbound).model : undefined };
  return {
    surface: "messages",
    keepAliveFrame: messagesClient.keepAlive,
    effort: sentEffort(inbound, target),
    form: MESSAGES_REPLY_SHAPE,
    decodeResponse: (source) => decodePassthroughReply(source, own),
    ...MESSAGES_ROUTES[route](inbound, target, own),
  };
}

function sentEffort(
  { call: { reasoning }, body }: InboundMessages,
  { endpoint, model }: AdapterTarget,
): UpstreamAdapter["effort"] {
  if (reasoning?.isEffortDefaulted) return "untold";
  return reasoning?.effort === "none" ? undefined : substituteEffort(body, effortsOf(endpoint, model));
}

type RouteMembers = Omit<UpstreamAdapter, "surface" | "keepAliveFrame" | "effort" | "decodeResponse">;

const MESSAGES_ROUTES: Readonly<
  Record<MessagesRoute, (inbound: InboundMessages, target: AdapterTarget, own: OwnMembers) => RouteMembers>
> = {
  api: (inbound, target, own) => {
    const { endpoint } = target;
    const betas = supportedBetas(inbound, endpoint);
    return {
      path: "/messages",
      auth: "x-api-key",
      headers: apiHeaders(inbound, betas),
      ...SSE_STREAM,
      openReplyStream: () => new PassthroughMessagesStream(own),
      omitted: [...betas.dropped, ...droppedReasoning(inbound)],
      encode: () => patchBody(inbound, target, [{ key: "model", json: JSON.stringify(endpoint.upstreamModel) }]),
      decodeProblem: messagesUpstream.decodeProblem,
    };
  },
  raw_predict: (inbound, target, own) => {
    const { endpoint } = target;
    const betas = supportedBetas(inbound, endpoint);
    const hints = stripUnknownHints(inbound.body, betas.sent, "known");
    return {
      path: rawPredictPath(endpoint.upstreamModel, inbound.call.stream ? "stream" : "whole"),
      auth: "bearer",
      headers: betaHeader(betas),
      ...SSE_STREAM,
      openReplyStream: () => new PassthroughMessagesStream(own),
      omitted: [...betas.dropped, ...hints.dropped, ...droppedReasoning(inbound)],
      encode: () => patchBody(inbound, target, [...RAW_PREDICT_PATCHES, ...hints.patches]),
      decodeProblem: decodeRawPredictProblem,
    };
  },
  invoke: (inbound, target, own) => {
    const { endpoint } = target;
    const options = invokeModelOptions(inbound, endpoint);
    const operation = inbound.call.stream ? "invoke-with-response-stream" : "invoke";
    return {
      path: `/model/${percentEncode(endpoint.upstreamModel)}/${operation}`,
      auth: "bearer",
      headers: {},
      streamContentType: "application/vnd.amazon.eventstream",
      openFrameReader: ({ binaryFrameMaxBytes }) => new ConverseFrames(binaryFrameMaxBytes),
      openReplyStream: () => new InvokeModelStream(own),
      omitted: [
        ...INVOKE_UNSUPPORTED_FIELDS.filter((key) => inbound.body.members.has(key)),
        ...options.dropped,
        ...droppedReasoning(inbound),
      ],
      encode: () => invokeModelBody(inbound, target, options),
      decodeProblem: decodeAwsProblem,
    };
  },
};

const SSE_STREAM = {
  streamContentType: "text/event-stream",
  openFrameReader: ({ frameMaxChars }: FrameLimits) => new SseReader(frameMaxChars),
} as const;

const RAW_PREDICT_PATCHES: readonly MemberPatch[] = [
  { key: "model", json: null },
  { key: "anthropic_version", json: JSON.stringify(RAW_PREDICT_VERSION) },
];

export function patchBody(
  inbound: InboundMessages,
  { endpoint, model }: AdapterTarget,
  patches: readonly MemberPatch[],
): string {
  return patchMembers(inbound.body, [
    ...effortPatches(inbound.body, effortsOf(endpoint, model)),
    ...withoutForeignReasoningIn(inbound, patches),
    ...ROUTING_HINT_FIELDS.map((key) => ({ key, json: null })),
  ]);
}

function withoutForeignReasoningIn(
  { body, call }: InboundMessages,
  patches: readonly MemberPatch[],
): readonly MemberPatch[] {
  const span = body.members.get("messages");
  if (span === undefined || !hasForeignReasoning(call)) return patches;
  const changed = patches.find(({ key }) => key === "messages")?.json;
  const messages = withoutForeignReasoning(changed ?? body.text.slice(span.valueStart, span.valueEnd));
  return [...patches.filter(({ key }) => key !== "messages"), { key: "messages", json: messages }];
}

function droppedReasoning({ call }: InboundMessages): string[] {
  return hasForeignReasoning(call) ? ["messages[].content[].thinking", "messages[].content[].signature"] : [];
}

type InvokeModelOptions = {
  readonly betas: readonly string[];
  readonly patches: readonly MemberPatch[];
  readonly dropped: readonly string[];
};

/** InvokeModel supports eager tool input streaming only as a beta. */
export function invokeModelOptions(inbound: InboundMessages, endpoint: Endpoint): InvokeModelOptions {
  const { sent, dropped } = supportedBetas(inbound, endpoint);
  const hints = stripUnknownHints(inbound.body, sent, "unknown");
  if (!hints.dropped.includes(EAGER_STREAMING_PATH) || !acceptsBeta(endpoint, EAGER_STREAMING_BETA))
    return { betas: sent, patches: hints.patches, dropped: [...dropped, ...hints.dropped] };
  return {
    betas: [...new Set([...sent, EAGER_STREAMING_BETA])],
    patches: hints.patches,
    dropped: [...dropped, ...hints.dropped.filter((name) => name !== EAGER_STREAMING_PATH)],
  };
}

/** InvokeModel has the model in its path, and version and betas in the body instead of headers. */
export function invokeModelBody(
  inbound: InboundMessages,
  target: AdapterTarget,
  { betas, patches }: InvokeModelOptions,
  more: readonly MemberPatch[] = [],
): string {
  const removed = ["model", "stream", ...INVOKE_UNSUPPORTED_FIELDS].map((key) => ({ key, json: null }));
  return patchBody(inbound, target, [
    ...removed,
    { key: "anthropic_version", json: JSON.stringify(INVOKE_VERSION) },
    { key: "anthropic_beta", json: betas.length === 0 ? null : JSON.stringify(betas) },
    ...patches,
    ...more,
  ]);
}

/** `verbatim`: the caller's header, if nothing was removed from it. */
type BetaHeaders = {
  readonly sent: readonly string[];
  readonly dropped: readonly string[];
  readonly verbatim: string | undefined;
};

/** The requested betas without those that the endpoint is known to reject: a single one would fail the request. */
export function supportedBetas({ beta }: InboundMessages, endpoint: Endpoint): BetaHeaders {
  const requested = (beta ?? "").split(",").flatMap((name) => name.trim() || []);
  const taken = (name: string) => acceptsBeta(endpoint, name);
  const sent = [...new Set(requested.filter(taken))];
  const dropped = requested
    .filter((name) => !taken(name))
    .map((name) => `anthropic_beta.${name.slice(0, NAME_CHARS_MAX).replaceAll(".", "_")}`);
  return { sent, dropped, verbatim: dropped.length === 0 ? beta : undefined };
}

function acceptsBeta({ anthropicBetas }: Endpoint, name: string): boolean {
  return anthropicBetas == null || anthropicBetas.includes(name);
}

function betaHeader({ sent, verbatim }: BetaHeaders): Record<string, string> {
  const value = verbatim ?? sent.join(",");
  return value === "" ? {} : { "anthropic-beta": value };
}

function apiHeaders({ version }: InboundMessages, betas: BetaHeaders): Record<string, string> {
  return { "anthropic-version": version ?? DEFAULT_VERSION, ...betaHeader(betas) };
}
