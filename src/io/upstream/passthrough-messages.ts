import { type Endpoint, effortsOf } from "../../domain/catalogue/catalogue.ts";
import { type MemberPatch, patchMembers } from "../../kit/json.ts";
import { percentEncode } from "../../kit/percent-encode.ts";
import { SseReader } from "../../kit/sse.ts";
import { ROUTING_HINT_FIELDS } from "../../language/canon/routing-hints.ts";
import { decodeProblem as decodeAwsProblem } from "../../language/dialects/converse/upstream/errors.ts";
import { ConverseFrames } from "../../language/dialects/converse/upstream/frames.ts";
import { messagesClient } from "../../language/dialects/messages/client/dialect.ts";
import { decodePassthroughReply, type OwnMembers } from "../../language/dialects/messages/passthrough/reply.ts";
import {
  EAGER_STREAMING,
  EAGER_STREAMING_BETA,
  effortPatches,
  hasForeignReasoning,
  stripUnknownHints,
  substituteEffort,
  withoutForeignReasoning,
} from "../../language/dialects/messages/passthrough/request.ts";
import { InvokeModelStream, PassthroughMessagesStream } from "../../language/dialects/messages/passthrough/stream.ts";
import { messagesUpstream } from "../../language/dialects/messages/upstream/dialect.ts";
import {
  decodeRawPredictProblem,
  RAW_PREDICT,
  RAW_PREDICT_VERSION,
  rawPredictPath,
} from "../../language/dialects/messages/upstream/raw-predict.ts";
import type { AdapterTarget, InboundMessages, UpstreamAdapter } from "./upstream-adapter.ts";

const CLAUDE = "anthropic/claude-";
/** How much of a beta's name is told in the log. */
const NAME_CHARS_MAX = 64;
/** What a request of the dialect says of its version when the caller says nothing. */
const VERSION = "2023-06-01";
const INVOKE_VERSION = "bedrock-2023-05-31";
/** Known not to be taken by InvokeModel: labels for the maker's own reports. */
const NOT_INVOKED = ["tags"] as const;

/** Where an endpoint takes the body of the messages dialect as it is. */
export type MessagesRoute = "api" | "invoke" | "raw_predict";

/** Undefined for endpoints that the dialect has to be translated for. */
export function messagesRouteFor({ dialects: [dialect], model, quirks }: Endpoint): MessagesRoute | undefined {
  if (dialect === "D2") return quirks?.includes(RAW_PREDICT) ? "raw_predict" : "api";
  return dialect === "D4" && model.startsWith(CLAUDE) ? "invoke" : undefined;
}

/** Messages to messages: the caller's bytes with named patches, the provider's bytes with our id. */
export function passthroughMessages(
  inbound: InboundMessages,
  target: AdapterTarget,
  door: MessagesRoute,
): UpstreamAdapter {
  const { head } = target;
  const own = { id: head.id, model: inbound.comparesModel ? head.model : undefined };
  return {
    surface: "messages",
    keepAliveFrame: messagesClient.keepAlive,
    effort: toldEffort(inbound, target),
    decodeResponse: (answer) => decodePassthroughReply(answer, own),
    ...DOORS[door](inbound, target, own),
  };
}

function toldEffort(
  { call: { reasoning }, body }: InboundMessages,
  { endpoint, model }: AdapterTarget,
): UpstreamAdapter["effort"] {
  if (reasoning?.isEffortDefaulted) return "untold";
  return reasoning?.effort === "none" ? undefined : substituteEffort(body, effortsOf(endpoint, model));
}

type ThroughDoor = Omit<UpstreamAdapter, "surface" | "keepAlive" | "effort" | "decodeWhole">;

const DOORS: Readonly<
  Record<MessagesRoute, (inbound: InboundMessages, target: AdapterTarget, own: OwnMembers) => ThroughDoor>
> = {
  api: (inbound, target, own) => {
    const { endpoint } = target;
    const betas = supportedBetas(inbound, endpoint);
    return {
      path: "/messages",
      auth: "x-api-key",
      headers: apiHeaders(inbound, betas),
      ...SERVER_SENT,
      openReplyStream: () => new PassthroughMessagesStream(own),
      droppedFields: [...betas.dropped, ...thoughtsDropped(inbound)],
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
      ...SERVER_SENT,
      openReplyStream: () => new PassthroughMessagesStream(own),
      droppedFields: [...betas.dropped, ...hints.dropped, ...thoughtsDropped(inbound)],
      encode: () => patchBody(inbound, target, [...RAW_PREDICT_PATCHES, ...hints.patches]),
      decodeProblem: decodeRawPredictProblem,
    };
  },
  invoke: (inbound, target, own) => {
    const { endpoint } = target;
    const invoked = invokeModelOptions(inbound, endpoint);
    const operation = inbound.call.stream ? "invoke-with-response-stream" : "invoke";
    return {
      path: `/model/${percentEncode(endpoint.upstreamModel)}/${operation}`,
      auth: "bearer",
      headers: {},
      streamContentType: "application/vnd.amazon.eventstream",
      openFrameReader: (frameMaxBytes) => new ConverseFrames(frameMaxBytes),
      openReplyStream: () => new InvokeModelStream(own),
      droppedFields: [
        ...NOT_INVOKED.filter((key) => inbound.body.members.has(key)),
        ...invoked.dropped,
        ...thoughtsDropped(inbound),
      ],
      encode: () => invokeModelBody(inbound, target, invoked),
      decodeProblem: decodeAwsProblem,
    };
  },
};

const SERVER_SENT = {
  streamType: "text/event-stream",
  openFrames: (frameMaxChars: number) => new SseReader(frameMaxChars),
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
    ...withOwnThoughts(inbound, patches),
    ...ROUTING_HINT_FIELDS.map((key) => ({ key, json: null })),
  ]);
}

function withOwnThoughts({ body, call }: InboundMessages, patches: readonly MemberPatch[]): readonly MemberPatch[] {
  const span = body.members.get("messages");
  if (span === undefined || !hasForeignReasoning(call)) return patches;
  const changed = patches.find(({ key }) => key === "messages")?.json;
  const messages = withoutForeignReasoning(changed ?? body.text.slice(span.valueStart, span.valueEnd));
  return [...patches.filter(({ key }) => key !== "messages"), { key: "messages", json: messages }];
}

function thoughtsDropped({ call }: InboundMessages): string[] {
  return hasForeignReasoning(call) ? ["messages: thoughts of other models"] : [];
}

type Invoked = {
  readonly betas: readonly string[];
  readonly patches: readonly MemberPatch[];
  readonly dropped: readonly string[];
};

/** That arguments are wanted as they are written InvokeModel knows only by a beta. */
export function invokeModelOptions(inbound: InboundMessages, endpoint: Endpoint): Invoked {
  const { sent, dropped } = supportedBetas(inbound, endpoint);
  const hints = stripUnknownHints(inbound.body, sent, "unknown");
  if (!hints.dropped.includes(EAGER_STREAMING) || !takesBeta(endpoint, EAGER_STREAMING_BETA))
    return { betas: sent, patches: hints.patches, dropped: [...dropped, ...hints.dropped] };
  return {
    betas: [...new Set([...sent, EAGER_STREAMING_BETA])],
    patches: hints.patches,
    dropped: [...dropped, ...hints.dropped.filter((name) => name !== EAGER_STREAMING)],
  };
}

/** The body as InvokeModel takes it: what else stands in the path and in headers stands in it. */
export function invokeModelBody(
  inbound: InboundMessages,
  target: AdapterTarget,
  { betas, patches }: Invoked,
  more: readonly MemberPatch[] = [],
): string {
  const removed = ["model", "stream", ...NOT_INVOKED].map((key) => ({ key, json: null }));
  return patchBody(inbound, target, [
    ...removed,
    { key: "anthropic_version", json: JSON.stringify(INVOKE_VERSION) },
    { key: "anthropic_beta", json: betas.length === 0 ? null : JSON.stringify(betas) },
    ...patches,
    ...more,
  ]);
}

/** `asIs`: the header as the caller wrote it, where nothing was taken out of it. */
type Betas = {
  readonly sent: readonly string[];
  readonly dropped: readonly string[];
  readonly asIs: string | undefined;
};

/** The betas a caller asked for, without those that the endpoint is known not to take: one of them would refuse it all. */
export function supportedBetas({ beta }: InboundMessages, endpoint: Endpoint): Betas {
  const asked = (beta ?? "").split(",").flatMap((name) => name.trim() || []);
  const taken = (name: string) => takesBeta(endpoint, name);
  const sent = [...new Set(asked.filter(taken))];
  const dropped = asked.filter((name) => !taken(name)).map((name) => `anthropic-beta ${name.slice(0, NAME_CHARS_MAX)}`);
  return { sent, dropped, asIs: dropped.length === 0 ? beta : undefined };
}

function takesBeta({ anthropicBetas }: Endpoint, name: string): boolean {
  return anthropicBetas == null || anthropicBetas.includes(name);
}

function betaHeader({ sent, asIs }: Betas): Record<string, string> {
  const value = asIs ?? sent.join(",");
  return value === "" ? {} : { "anthropic-beta": value };
}

function apiHeaders({ version }: InboundMessages, betas: Betas): Record<string, string> {
  return { "anthropic-version": version ?? VERSION, ...betaHeader(betas) };
}
