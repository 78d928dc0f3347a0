import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import { isJsonObject } from "../../../../kit/json.ts";
import { frameBody } from "../../../../kit/json-document.ts";
import type { ReplyStream, StreamPiece } from "../../../canon/reply.ts";
import { latestUsage, NO_TOKENS, type Usage } from "../../../canon/usage.ts";
import { type ExtraUses, extraUsesInCandidates, maxExtraUses } from "../../extras.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { encodeStreamError } from "../client/errors.ts";
import { FramedStream, type StreamFraming } from "../framing.ts";
import { decodeProblem } from "../upstream/errors.ts";
import { malformedReply } from "../upstream/finish-reasons.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { BROKEN_REASONS, isAnswer, outlineOf, withOwnId } from "./reply.ts";

/** Relays a stream of answers unchanged except for the id, and meters it. */
export class PassthroughGeminiStream implements ReplyStream {
  readonly #id: string;
  readonly #stream: FramedStream;
  readonly cutsWhenFailed: boolean;
  #usage: Usage | undefined;
  #extraUses: ExtraUses | undefined;
  #outputWeight = 0;
  #upstreamId: string | null = null;
  #finished = false;
  #hasContent = false;
  /** The answer with the finish reason, held back until the request is settled. */
  #last: string | undefined;

  constructor(id: string, framing: StreamFraming) {
    this.#id = id;
    this.#stream = new FramedStream(framing);
    this.cutsWhenFailed = framing === "sse";
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get extraUses(): ExtraUses | undefined {
    return this.#extraUses;
  }

  get outputWeight(): number {
    return this.#outputWeight;
  }

  /** Every answer has the usage so far. */
  get isUsagePartial(): true | undefined {
    return this.#finished ? undefined : true;
  }

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get isFinished(): boolean {
    return this.#finished;
  }

  read(frame: StreamFrame): StreamPiece {
    const body = frameBody(frame);
    if ("problem" in body) return { is: "malformed" };
    const { value } = body;
    if (isJsonObject(value["error"])) return { is: "problem", problem: decodeProblem(value, null) };
    if (!isAnswer(value)) return { is: "malformed" };
    const { weight, hasContent, finishReason, isBlocked } = outlineOf(value);
    const { candidates, usageMetadata, responseId } = value;
    this.#outputWeight += weight;
    this.#hasContent ||= hasContent;
    if (BROKEN_REASONS.has(finishReason) && !this.#hasContent)
      return { is: "problem", problem: malformedReply(`the model ended with ${String(finishReason)}`) };
    this.#usage = latestUsage(this.#usage, decodeUsage(usageMetadata) ?? (isBlocked ? NO_TOKENS : undefined));
    this.#extraUses = maxExtraUses(extraUsesInCandidates(candidates), this.#extraUses ?? {});
    if (typeof responseId === "string" && responseId !== "") this.#upstreamId = responseId;
    const before = this.#last === undefined ? "" : this.#stream.element(this.#last);
    this.#last = undefined;
    const json = withOwnId(body, this.#id);
    if (finishReason === undefined && !isBlocked && !this.#finished) {
      const text = before + this.#stream.element(json);
      return { is: this.#hasContent ? "content" : "preamble", text };
    }
    this.#finished = true;
    this.#last = json;
    if (before !== "" || hasContent) return { is: "content", text: before };
    return { is: "usage" };
  }

  close(): string {
    const last = this.#last === undefined ? "" : this.#stream.element(this.#last);
    return last + this.#stream.end();
  }

  fail(envelope: ErrorEnvelope): string {
    return this.#stream.error(encodeStreamError(envelope));
  }
}
