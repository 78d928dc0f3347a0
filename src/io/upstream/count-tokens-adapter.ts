import { z } from "zod";
import { isJsonObject, type MemberPatch } from "../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../kit/json-document.ts";
import { percentEncode } from "../../kit/percent-encode.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { stripUnknownHints } from "../../language/dialects/messages/passthrough/request.ts";
import { RAW_PREDICT_VERSION } from "../../language/dialects/messages/upstream/raw-predict.ts";
import {
  invokeModelBody,
  invokeModelOptions,
  type MessagesRoute,
  messagesAdapter,
  messagesRouteFor,
  patchBody,
  supportedBetas,
} from "./passthrough-messages.ts";
import type { AdapterTarget, InboundMessages, UpstreamAdapter } from "./upstream-adapter.ts";

/** Fields about generation, which count endpoints reject as unknown. */
const GENERATION_FIELDS = [
  "max_tokens",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "metadata",
  "service_tier",
] as const;
/** The region prefix of a cross-region inference profile: only the model itself can count. */
const INFERENCE_PROFILE_PREFIX = /^[a-z-]+\.(?=anthropic\.)/;
const COUNTING_UNSUPPORTED = /support counting tokens|unknown name \\?"generateContentRequest/i;
/** InvokeModel requires an output limit above the reasoning budget. */
const OUTPUT_TOKENS_MIN = 1024;

/** The adapter for a provider's token counting; undefined: the gateway counts itself. */
export function countTokensAdapter(inbound: InboundMessages, target: AdapterTarget): UpstreamAdapter | undefined {
  const route = messagesRouteFor(target.endpoint);
  return route === undefined
    ? undefined
    : { ...messagesAdapter(inbound, target, route), ...COUNT_ROUTES[route](inbound, target) };
}

/** The provider does not support counting for this model, which is not a failure. */
export function isCountingUnsupported(message: string): boolean {
  return COUNTING_UNSUPPORTED.test(message);
}

type CountMembers = Pick<UpstreamAdapter, "path" | "encode" | "decodeResponse">;

const COUNT_ROUTES: Readonly<Record<MessagesRoute, (inbound: InboundMessages, target: AdapterTarget) => CountMembers>> =
  {
    api: (inbound, target) => ({
      path: "/messages/count_tokens",
      encode: () => patchBody(inbound, target, [modelPatch(target), ...WITHOUT_GENERATION_FIELDS]),
      decodeResponse: decodeCount,
    }),
    // One path counts for all models, so the model is in the body.
    raw_predict: (inbound, target) => ({
      path: "/models/count-tokens:rawPredict",
      encode: () =>
        patchBody(inbound, target, [
          modelPatch(target),
          { key: "anthropic_version", json: JSON.stringify(RAW_PREDICT_VERSION) },
          ...stripUnknownHints(inbound.body, supportedBetas(inbound, target.endpoint).sent, "known").patches,
          ...WITHOUT_GENERATION_FIELDS,
        ]),
      decodeResponse: decodeCount,
    }),
    invoke: (inbound, target) => ({
      path: `/model/${percentEncode(target.endpoint.upstreamModel.replace(INFERENCE_PROFILE_PREFIX, ""))}/count-tokens`,
      encode: () => {
        const body = invokeModelBody(
          inbound,
          target,
          invokeModelOptions(inbound, target.endpoint),
          outputLimitPatch(inbound),
        );
        return JSON.stringify({ input: { invokeModel: { body: Buffer.from(body).toString("base64") } } });
      },
      decodeResponse: decodeInvokeModelCount,
    }),
  };

const WITHOUT_GENERATION_FIELDS: readonly MemberPatch[] = GENERATION_FIELDS.map((key) => ({ key, json: null }));

const modelPatch = ({ endpoint }: AdapterTarget): MemberPatch => ({
  key: "model",
  json: JSON.stringify(endpoint.upstreamModel),
});

function outputLimitPatch({ body }: InboundMessages): MemberPatch[] {
  if (body.value["max_tokens"] != null) return [];
  const { thinking } = body.value;
  const budget =
    isJsonObject(thinking) && typeof thinking["budget_tokens"] === "number" ? thinking["budget_tokens"] : 0;
  return [{ key: "max_tokens", json: JSON.stringify(budget + OUTPUT_TOKENS_MIN) }];
}

const Count = z.looseObject({ input_tokens: z.int().min(0) });
const InvokeModelCount = z.looseObject({ inputTokens: z.int().min(0) });

function decodeCount(source: JsonSource): WholeReply | undefined {
  const { value, text } = JsonDocument.of(source);
  return Count.safeParse(value).success ? replyOf(text) : undefined;
}

function decodeInvokeModelCount(source: JsonSource): WholeReply | undefined {
  const count = InvokeModelCount.safeParse(JsonDocument.of(source).value);
  return count.success ? replyOf(JSON.stringify({ input_tokens: count.data.inputTokens })) : undefined;
}

function replyOf(text: string): WholeReply {
  return { usage: undefined, upstreamId: null, outputWeight: 0, render: () => text };
}
