import { type Fault, fault } from "../../contract/faults.ts";
import { OUTPUT_PROGRAM_MAX, type OutputFilter } from "../../domain/data-classes/output-filter.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { ReplyStream, StreamPiece, WholeReply } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { type Decoding, formatOf, RewrittenStream, rewrittenReply } from "./restore-reply.ts";
import type { StreamFormat } from "./stream-delta.ts";

/** Surfaces whose replies hold text of a model; labels of decisions and vectors are none. */
const SURFACES: ReadonlySet<Surface> = new Set(["chat", "messages", "responses", "gemini", "transcriptions"]);

/** The decoding of an adapter whose replies are read by rules: what they find is noted, replaced, or ends the reply. */
export function filteredDecoding<T extends Decoding>(adapter: T, filter: OutputFilter, surface: Surface): T {
  if (!SURFACES.has(surface)) return adapter;
  if (filter.unreadable !== undefined)
    throw fault("data_class_not_permitted", {
      message: `The rule data_classes.${filter.unreadable} has the member "output", but external detectors read no replies. Remove the member, or define the class by terms and patterns.`,
    });
  if (!filter.isBounded)
    throw fault("data_class_not_permitted", {
      message: `Rules for replies name classes whose patterns have more than ${OUTPUT_PROGRAM_MAX} instructions together, which cannot be looked for in a stream. Use terms or simpler patterns, or remove the member "output" of these rules.`,
    });
  const decoding: Decoding = {
    decodeResponse(source, headers) {
      const reply = adapter.decodeResponse(source, headers);
      if (reply === undefined || "unusable" in reply) return reply;
      const rewritten = rewrittenReply(reply, filter, undefined);
      // Reads the texts; what the reply costs is not known yet.
      rewritten.render(reply.usage ?? NO_TOKENS, undefined);
      return judged(reply, rewritten, filter);
    },
    async decodeInSlices(document, headers, work) {
      const reply = await (adapter.decodeInSlices?.(document, headers, work) ??
        adapter.decodeResponse(document, headers));
      if (reply === undefined || "unusable" in reply) return reply;
      const rewritten = rewrittenReply(reply, filter, work);
      await rewritten.renderInSlices?.(reply.usage ?? NO_TOKENS, undefined);
      return judged(reply, rewritten, filter);
    },
    openReplyStream: () =>
      new FilteredStream(adapter.openReplyStream(), filter, formatOf(surface, adapter.streamResponseType)),
  };
  return { ...adapter, ...decoding };
}

/** Byte for byte the same where nothing was found. */
function judged(reply: WholeReply, rewritten: WholeReply, filter: OutputFilter): WholeReply {
  const detail = detailOf(filter);
  if (detail === undefined) return reply;
  const noted = { detail: { ...reply.detail, ...detail } };
  return Object.assign(rewritten, filter.blocked === undefined ? noted : { ...noted, withheld: faultOf(filter) });
}

class FilteredStream extends RewrittenStream {
  readonly judgesLastFrames = true;
  readonly #filter: OutputFilter;

  constructor(inner: ReplyStream, filter: OutputFilter, format: StreamFormat) {
    super(inner, filter, format);
    this.#filter = filter;
  }

  /** What is held back is judged before the end of the stream. */
  override read(frame: Parameters<ReplyStream["read"]>[0]): StreamPiece {
    return this.#judged(super.read(frame));
  }

  override async readInSlices(...args: Parameters<NonNullable<ReplyStream["readInSlices"]>>): Promise<StreamPiece> {
    return this.#judged(await super.readInSlices(...args));
  }

  #judged(piece: StreamPiece): StreamPiece {
    return piece.is === "end" ? { is: "end", text: this.flushed() + piece.text } : piece;
  }

  override get detail() {
    const own = detailOf(this.#filter);
    return own === undefined ? super.detail : { ...super.detail, ...own };
  }

  get withheld(): Fault | undefined {
    return this.#filter.blocked && faultOf(this.#filter);
  }
}

/** For the log: classes and counts, never content. */
function detailOf({ counts, blocked }: OutputFilter): JsonObject | undefined {
  if (Object.keys(counts).length === 0) return undefined;
  return { data_output: counts, ...(blocked !== undefined && { data_output_blocked: blocked.class }) };
}

function faultOf({ blocked }: OutputFilter): Fault {
  return fault("data_class_not_permitted", {
    message: `The reply contains data of the class "${blocked?.class}" (${blocked?.id}) that the request does not contain, and the rule data_classes.${blocked?.class} blocks it in replies. What the model wrote is charged.`,
  });
}
