import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { ModerationSupport } from "../../domain/catalogue/moderations-support.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { SseReader } from "../../kit/sse.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { TOKENS_PER_MEDIA } from "../../language/canon/tokens.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { NO_CEILING, PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS } from "../../language/canon/usage-ceiling.ts";
import { omittedMembers } from "../../language/dialects/reply-members.ts";
import {
  estimateModerationTokens,
  type ModerationCall,
  type ModerationInputType,
  type ModerationResult,
} from "../../language/moderations/call.ts";
import { renderModeration } from "../../language/moderations/render.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type ModerationTarget = {
  readonly call: ModerationCall;
  readonly endpoint: Endpoint;
  readonly support: ModerationSupport;
  readonly id: string;
};

/** One request for all subjects. */
export function moderationsAdapter(
  { call, endpoint, id }: ModerationTarget,
  format: Exclude<ModerationSupport["interface"], "decisions">,
): UpstreamAdapter {
  const wire = UPSTREAM_ADAPTERS.moderations[format];
  const count = call.subjects.length;
  const tokensMax =
    PLAUSIBLE_FACTOR * estimateModerationTokens(call, (text) => Buffer.byteLength(text)) + OVERHEAD_TOKENS;
  return {
    surface: null,
    path: wire.path,
    auth: "bearer",
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: "",
    effort: undefined,
    // Wider than the billing check: it opens circuits, so it allows for the provider's overhead per input.
    maxUsage: () => ({ ...NO_CEILING, inputTokens: tokensMax + PROVIDER_OVERHEAD_TOKENS * count }),
    encode: () => JSON.stringify(wire.encode(call, endpoint.upstreamModel)),
    decodeResponse(source) {
      const { value } = JsonDocument.of(source);
      const answer = wire.decode(value);
      if (answer === undefined) return undefined;
      const { results, tokens } = answer;
      if (results.length !== count)
        return { unusable: `${pluralize(results.length, "result")} for ${pluralize(count, "input")}` };
      const isImplausible = tokens !== undefined && !(Number.isInteger(tokens) && tokens <= tokensMax);
      return moderationReply(results.map(withInputTypes(call)), {
        usage: tokens === undefined || isImplausible ? undefined : { ...NO_TOKENS, inputTokens: tokens },
        isUsageRejected: isImplausible ? true : undefined,
        upstreamId: answer.id,
        omitted: omittedMembers(value, wire.reply),
        head: { id, model: endpoint.model },
      });
    },
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream() {
      throw new Error("a moderation arrived as a stream");
    },
    decodeProblem: wire.decodeProblem,
  };
}

const OVERHEAD_TOKENS = TOKENS_PER_MEDIA;

/** Clients expect the member: without images every category was judged by the text. */
function withInputTypes({ subjects }: ModerationCall): (result: ModerationResult) => ModerationResult {
  const hasImages = subjects.some(({ parts }) => parts.some(({ type }) => type === "image"));
  return (result) => (result.inputTypes !== undefined || hasImages ? result : appliedTo(result, ["text"]));
}

export function appliedTo(
  result: Omit<ModerationResult, "inputTypes">,
  types: readonly ModerationInputType[],
): ModerationResult {
  return { ...result, inputTypes: new Map([...result.categories.keys()].map((name) => [name, types])) };
}

type ModerationFacts = Pick<WholeReply, "usage" | "isUsageRejected" | "upstreamId" | "omitted"> &
  Partial<Pick<WholeReply, "declined" | "promptCount" | "promptReads">> & {
    readonly head: { readonly id: string; readonly model: string };
  };

/** Verdicts are as sensitive as what they are about, so the log has their number only. */
export function moderationReply(results: readonly ModerationResult[], { head, ...facts }: ModerationFacts): WholeReply {
  return {
    outputWeight: 0,
    ...facts,
    detail: { results: results.length },
    render: (_counted, shown) => renderModeration(results, { ...head, tokens: facts.usage?.inputTokens }, shown),
  };
}
