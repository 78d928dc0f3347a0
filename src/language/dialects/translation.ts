import type { ErrorEnvelope } from "../../contract/faults.ts";
import type { Call } from "../canon/call.ts";
import type { ReplyStream, ReportedCost, StreamPiece, WholeReply } from "../canon/reply.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import { weightOf } from "../canon/tokens.ts";
import type { Usage } from "../canon/usage.ts";
import type { ClientDialect, FinishEvent, ReplyHead, ReplyWriter } from "./client-dialect.ts";
import type { ReplyEventReader, StreamFrame } from "./upstream-dialect.ts";

/** Decodes one dialect into canonical events and encodes another. */
export class TranslatedStream implements ReplyStream {
  readonly #reader: ReplyEventReader;
  readonly #writer: ReplyWriter;
  readonly #meter = new ReplyMeter();
  /** Held until the end: some servers send a reason with every frame, and only the last is valid. */
  #finish: FinishEvent | undefined;

  constructor(reader: ReplyEventReader, writer: ReplyWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  get usage(): Usage | undefined {
    return this.#meter.usage;
  }

  get outputWeight(): number {
    return this.#meter.outputWeight;
  }

  get upstreamId(): string | null {
    return this.#meter.upstreamId;
  }

  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  get finalJson(): string | undefined {
    return this.#writer.finalJson;
  }

  read(frame: StreamFrame): StreamPiece {
    const events = this.#reader.read(frame);
    if (events === undefined) return { is: "malformed" };
    let text = "";
    let ended = false;
    for (const event of events) {
      if (event.is === "problem") return { is: "problem", problem: event.problem };
      if (event.is === "end") ended = true;
      this.#meter.add(event);
      if (event.is === "finish") this.#finish = event;
      else text += this.#writer.write(event);
    }
    if (ended) return { is: "end", text };
    return text === "" ? { is: "usage" } : { is: "content", text };
  }

  close(usage: Usage, cost: ReportedCost | undefined): string {
    return this.#writer.close({ finish: this.#finish, usage, cost });
  }

  fail(envelope: ErrorEnvelope): string {
    return this.#writer.fail(envelope);
  }
}

export function translatedReply(
  events: readonly ReplyEvent[],
  client: ClientDialect,
  head: ReplyHead,
  call: Call,
): WholeReply {
  const meter = new ReplyMeter();
  for (const event of events) meter.add(event);
  const { usage, upstreamId, outputWeight } = meter;
  return {
    usage,
    upstreamId,
    outputWeight,
    render: (counted, shown) => client.render(events, head, call, counted, shown),
  };
}

class ReplyMeter {
  usage: Usage | undefined;
  outputWeight = 0;
  upstreamId: string | null = null;

  add(event: ReplyEvent): void {
    this.outputWeight += eventWeight(event);
    if (event.is === "usage") this.usage = event.usage;
    else if (event.is === "begin") this.upstreamId = event.upstreamId;
  }
}

function eventWeight(event: ReplyEvent): number {
  switch (event.is) {
    case "text":
    case "refusal":
    case "reasoning":
    case "tool_arguments":
      return weightOf(event.text);
    case "tool_call":
      return weightOf(event.name);
    default:
      return 0;
  }
}
