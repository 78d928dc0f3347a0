import { z } from "zod";
import { isJsonObject, type MemberPatch, tryParseJson } from "../../kit/json.ts";
import { percentEncode } from "../../kit/percent-encode.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { stripUnknownHints } from "../../language/dialects/messages/passthrough/request.ts";
import { RAW_PREDICT_VERSION } from "../../language/dialects/messages/upstream/raw-predict.ts";
import {
  invokeModelBody,
  invokeModelOptions,
  type MessagesRoute,
  messagesRouteFor,
  passthroughMessages,
  patchBody,
  supportedBetas,
} from "./passthrough-messages.ts";
import type { AdapterTarget, InboundMessages, UpstreamAdapter } from "./upstream-adapter.ts";

/** What only matters for an answer: those that count refuse it as unknown. */
const OF_ANSWERS = [
  "max_tokens",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "metadata",
  "service_tier",
] as const;
/** A profile that spreads requests over an area is the model's own name behind the area's; only the model can count. */
const AREA = /^[a-z-]+\.(?=anthropic\.)/;
const NOT_COUNTED_THERE = /support counting tokens/i;
/** InvokeModel wants a limit, which must leave room beside the thoughts. */
const ROOM_TOKENS = 1024;

/** The way to a provider that counts the tokens of a request; undefined: the gateway has to count itself. */
export function countTokensAdapter(inbound: InboundMessages, target: AdapterTarget): UpstreamAdapter | undefined {
  const door = messagesRouteFor(target.endpoint);
  return door === undefined
    ? undefined
    : { ...passthroughMessages(inbound, target, door), ...COUNTING[door](inbound, target) };
}

/** The provider says that it cannot count for this model: that is nobody's fault. */
export function isCountingUnsupported(message: string): boolean {
  return NOT_COUNTED_THERE.test(message);
}

type Counting = Pick<UpstreamAdapter, "path" | "encode" | "decodeWhole">;

const COUNTING: Readonly<Record<MessagesRoute, (inbound: InboundMessages, target: AdapterTarget) => Counting>> = {
  api: (inbound, target) => ({
    path: "/messages/count_tokens",
    encode: () => patchBody(inbound, target, [modelPatch(target), ...WITHOUT_ANSWER]),
    decodeResponse: decodeCount,
  }),
  // All models are counted at one place, so the model stands in the body again.
  raw_predict: (inbound, target) => ({
    path: "/models/count-tokens:rawPredict",
    encode: () =>
      patchBody(inbound, target, [
        modelPatch(target),
        { key: "anthropic_version", json: JSON.stringify(RAW_PREDICT_VERSION) },
        ...stripUnknownHints(inbound.body, supportedBetas(inbound, target.endpoint).sent, "known").patches,
        ...WITHOUT_ANSWER,
      ]),
    decodeResponse: decodeCount,
  }),
  invoke: (inbound, target) => ({
    path: `/model/${percentEncode(target.endpoint.upstreamModel.replace(AREA, ""))}/count-tokens`,
    encode: () => {
      const body = invokeModelBody(inbound, target, invokeModelOptions(inbound, target.endpoint), limitFor(inbound));
      return JSON.stringify({ input: { invokeModel: { body: Buffer.from(body).toString("base64") } } });
    },
    decodeResponse: decodeInvokedCount,
  }),
};

const WITHOUT_ANSWER: readonly MemberPatch[] = OF_ANSWERS.map((key) => ({ key, json: null }));

const modelPatch = ({ endpoint }: AdapterTarget): MemberPatch => ({
  key: "model",
  json: JSON.stringify(endpoint.upstreamModel),
});

function limitFor({ body }: InboundMessages): MemberPatch[] {
  if (body.value["max_tokens"] != null) return [];
  const { thinking } = body.value;
  const budget =
    isJsonObject(thinking) && typeof thinking["budget_tokens"] === "number" ? thinking["budget_tokens"] : 0;
  return [{ key: "max_tokens", json: JSON.stringify(budget + ROOM_TOKENS) }];
}

const Count = z.looseObject({ input_tokens: z.int().min(0) });
const InvokedCount = z.looseObject({ inputTokens: z.int().min(0) });

/** The provider's own answer. */
function decodeCount(bytes: Buffer): WholeReply | undefined {
  const text = bytes.toString("utf8");
  return Count.safeParse(tryParseJson(text)).success ? answerOf(text) : undefined;
}

function decodeInvokedCount(bytes: Buffer): WholeReply | undefined {
  const count = InvokedCount.safeParse(tryParseJson(bytes));
  return count.success ? answerOf(JSON.stringify({ input_tokens: count.data.inputTokens })) : undefined;
}

function answerOf(text: string): WholeReply {
  return { usage: undefined, upstreamId: null, outputWeight: 0, render: () => text };
}
