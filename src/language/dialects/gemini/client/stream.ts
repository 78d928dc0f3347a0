import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import { FramedStream, type StreamFraming } from "../framing.ts";
import { PartsEncoder } from "./content-parts.ts";
import { encodeStreamError } from "./errors.ts";
import { candidateEnd, encodeAnswer } from "./reply.ts";
import { encodeUsage } from "./usage.ts";

/** How one caller wants its reply. */
export type GeminiReplyOptions = {
  /** Without it, thoughts are not shown. */
  readonly showsThoughts: boolean;
  readonly framing: StreamFraming;
};

/** Encodes canonical events as a stream of whole answers. */
export class GeminiWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #parts: PartsEncoder;
  readonly #stream: FramedStream;
  readonly cutsWhenFailed: boolean;

  constructor(head: ReplyHead, { showsThoughts, framing }: GeminiReplyOptions) {
    this.#head = head;
    this.#parts = new PartsEncoder(showsThoughts);
    this.#stream = new FramedStream(framing);
    this.cutsWhenFailed = framing === "sse";
  }

  write(event: ReplyEvent): string {
    const parts = this.#parts.add(event);
    return parts.length === 0 ? "" : this.#stream.element(JSON.stringify(encodeAnswer(this.#head, parts, {}, {})));
  }

  /** The last answer has the reason, the usage, and a part, because clients read its content. */
  close({ finish, usage, cost, omitted }: ReplyClosing): string {
    const rest = this.#parts.finish();
    const parts = rest.length === 0 ? [{ text: "" }] : rest;
    const answer = encodeAnswer(this.#head, parts, candidateEnd(finish, this.#parts), {
      usageMetadata: encodeUsage(usage, cost),
      ...(omitted === undefined ? {} : { svc_omitted: omitted }),
    });
    return this.#stream.element(JSON.stringify(answer)) + this.#stream.end();
  }

  fail(envelope: ErrorEnvelope): string {
    return this.#stream.error(encodeStreamError(envelope));
  }
}
