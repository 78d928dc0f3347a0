import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { ReasoningSignature } from "../../../canon/parts.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";

type OpenToolCall = {
  id: string | undefined;
  /** Position among the opened calls; undefined until the name is known. */
  index: number | undefined;
  /** Arguments that arrived before the name. */
  heldArguments: string;
  state: "empty" | "written" | "closed_empty";
  signature: ReasoningSignature | null;
};

/** Assembles tool calls from normalized fragments; fragments of several calls may interleave. */
export class ToolCallReader {
  readonly #calls = new Map<number, OpenToolCall>();
  #opened = 0;

  get count(): number {
    return this.#opened;
  }

  /** `index` is the server's own and need not start at 0. */
  add(wire: JsonObject, index: number): readonly ReplyEvent[] {
    const fn = isJsonObject(wire["function"]) ? wire["function"] : {};
    const call = this.#callAt(index);
    call.id ??= textIn(wire["id"]);
    call.signature ??= signatureOf(wire);
    const opening = this.#open(call, textIn(fn["name"]));
    const text = textIn(fn["arguments"]) ?? "";
    if (call.index === undefined) {
      call.heldArguments += text;
      return [];
    }
    const all = call.heldArguments + text;
    call.heldArguments = "";
    return all === "" ? opening : [...opening, ...write(call, call.index, all)];
  }

  #callAt(index: number): OpenToolCall {
    const known = this.#calls.get(index);
    if (known !== undefined) return known;
    const call: OpenToolCall = { id: undefined, index: undefined, heldArguments: "", state: "empty", signature: null };
    this.#calls.set(index, call);
    return call;
  }

  #open(call: OpenToolCall, name: string | undefined): ReplyEvent[] {
    if (call.index !== undefined || name === undefined) return [];
    const index = this.#opened++;
    call.index = index;
    return [{ is: "tool_call", index, id: call.id ?? `call_${index}`, name, signature: call.signature }];
  }

  /** Calls without arguments get an empty object; a call without a name is malformed. */
  close(): readonly ReplyEvent[] {
    const events: ReplyEvent[] = [];
    for (const call of this.#calls.values()) {
      if (call.index === undefined) {
        if (call.heldArguments.trim() !== "")
          events.push({ is: "problem", problem: malformedReply("a tool call has no name") });
      } else if (call.state === "empty") {
        call.state = "closed_empty";
        events.push({ is: "tool_arguments", index: call.index, text: "{}" });
      }
    }
    return events;
  }
}

function write(call: OpenToolCall, index: number, text: string): ReplyEvent[] {
  if (call.state === "closed_empty")
    return [
      { is: "problem", problem: malformedReply("arguments of a tool call arrived after the end of the response") },
    ];
  call.state = "written";
  return [{ is: "tool_arguments", index, text }];
}

/** Google's compatible endpoints put the signature into extra_content. */
function signatureOf({ extra_content }: JsonObject): ReasoningSignature | null {
  const google = isJsonObject(extra_content) ? extra_content["google"] : undefined;
  const data = isJsonObject(google) ? textIn(google["thought_signature"]) : undefined;
  return data === undefined ? null : { family: "google", data };
}

/** Reported as 502, so that the gateway may try another endpoint. */
function malformedReply(message: string): UpstreamProblem {
  return { message, code: "malformed_answer", type: null, status: 502 };
}

export function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
