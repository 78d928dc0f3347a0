import { SseReader } from "../../src/kit/sse.ts";
import type { Json } from "./gateway.ts";

/** The events of a responses stream, with the names of their frames. */
export function responseEvents(text: string): Json[] {
  const frames = new SseReader(1 << 24);
  return [...frames.push(Buffer.from(text)), ...frames.end()].map(({ event, data }) => {
    const parsed: Json = JSON.parse(data);
    if (event !== parsed.type) throw new Error(`the frame is called ${event} and says ${parsed.type}`);
    return parsed;
  });
}

/**
 * Assembles a response from its stream as the strictest client would, from added, delta and done events only. It fails
 * on anything out of order: gaps in the sequence numbers, overlapping items, missing or wrong indexes, parts that were
 * never announced, and `done` events that differ from the deltas.
 */
export function foldResponse(events: readonly Json[]): Json {
  const fold = new Fold();
  for (const [at, event] of events.entries()) {
    check(event.sequence_number === at, `number ${event.sequence_number} in place ${at}`);
    fold.read(event, at);
  }
  check(fold.last !== undefined, "no final event");
  const { output, ...rest } = fold.last;
  check(same(output, fold.output), `the final output is another: ${JSON.stringify(output)}`);
  return { ...rest, output };
}

/** The same response under another id and time: item ids derive from the response's own. */
export function withId(response: Json, id: string): Json {
  const core = (text: string) => text.replace(/^resp_/, "");
  return { ...JSON.parse(JSON.stringify(response).replaceAll(core(response.id), core(id))), created_at: 0 };
}

function check(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem);
}

const same = (a: unknown, b: unknown) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

const ENDS = ["response.completed", "response.incomplete", "response.failed"];

class Fold {
  readonly output: Json[] = [];
  last: Json;
  #item: Json;
  #part: Json;
  #text = "";

  read(event: Json, at: number): void {
    check(this.last === undefined, `${event.type} after the end`);
    if (at < 2) {
      const expected = ["response.created", "response.in_progress"][at];
      check(event.type === expected, `${event.type} in place of ${expected}`);
      check(event.response.status === "in_progress" && event.response.output.length === 0, "a head with content");
    } else if (ENDS.includes(event.type)) {
      check(this.#item === undefined, "the end while an item is open");
      this.last = event.response;
      check(event.type === `response.${this.last.status}`, `${event.type} of a response that is ${this.last.status}`);
    } else this.#readItem(event);
  }

  /** Some providers cite after further items: then the annotation follows the end of its part. */
  #addLateAnnotation(event: Json): boolean {
    if (event.type !== "response.output_text.annotation.added") return false;
    const item = this.output[event.output_index] ?? this.#item;
    const part = item?.content?.[event.content_index];
    if (part === undefined || part === this.#part) return false;
    check(event.item_id === item.id, `an annotation of the item ${event.item_id}`);
    check(event.annotation_index === part.annotations.length, "an annotation out of order");
    part.annotations.push(event.annotation);
    return true;
  }

  #readItem(event: Json): void {
    if (this.#addLateAnnotation(event)) return;
    check(event.output_index === this.output.length, `${event.type} of item ${event.output_index}`);
    if (event.type === "response.output_item.added") {
      check(this.#item === undefined, "two items are open");
      this.#item = structuredClone(event.item);
      this.#text = "";
      return;
    }
    check(this.#item !== undefined, `${event.type} outside of an item`);
    if (event.type === "response.output_item.done") {
      check(this.#part === undefined, "the item ends while a part is open");
      check(event.item.id === this.#item.id, "another id at the end");
      const { status: _opened, encrypted_content: _sealed, ...grown } = this.#item;
      const { status: _done, encrypted_content: _encrypted, ...done } = event.item;
      check(same(grown, done), `the item was ${JSON.stringify(grown)}, and ends as ${JSON.stringify(done)}`);
      this.output.push(event.item);
      this.#item = undefined;
      return;
    }
    check(event.item_id === this.#item.id, `${event.type} of the item ${event.item_id}`);
    this.#readContent(event);
  }

  #readContent(event: Json): void {
    const item = this.#item;
    switch (event.type) {
      case "response.content_part.added":
        this.#openPart(event, event.content_index, item.content);
        return;
      case "response.reasoning_summary_part.added":
        this.#openPart(event, event.summary_index, item.summary);
        return;
      case "response.output_text.delta":
      case "response.refusal.delta":
        this.#inPart(event.content_index, item.content);
        this.#text += event.delta;
        return;
      case "response.reasoning_summary_text.delta":
        this.#inPart(event.summary_index, item.summary);
        this.#text += event.delta;
        return;
      case "response.output_text.annotation.added":
        this.#inPart(event.content_index, item.content);
        check(event.annotation_index === this.#part.annotations.length, "an annotation out of order");
        this.#part.annotations.push(event.annotation);
        return;
      case "response.output_text.done":
      case "response.reasoning_summary_text.done":
        check(event.text === this.#text, `the text ends as ${event.text}, and was ${this.#text}`);
        this.#part.text = this.#text;
        return;
      case "response.refusal.done":
        check(event.refusal === this.#text, "the refusal ends as another");
        this.#part.refusal = this.#text;
        return;
      case "response.content_part.done":
        this.#closePart(event, event.content_index, item.content);
        return;
      case "response.reasoning_summary_part.done":
        this.#closePart(event, event.summary_index, item.summary);
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        check(item.type === (event.type.includes("custom") ? "custom_tool_call" : "function_call"), "a wrong delta");
        this.#text += event.delta;
        return;
      case "response.function_call_arguments.done":
        check(event.arguments === this.#text && event.name === item.name, "the arguments end as others");
        item.arguments = this.#text;
        return;
      case "response.custom_tool_call_input.done":
        check(event.input === this.#text, "the input ends as another");
        item.input = this.#text;
        return;
      default:
        throw new Error(`an unknown event: ${event.type}`);
    }
  }

  #openPart(event: Json, index: number, list: Json[]): void {
    check(this.#part === undefined, "two parts are open");
    check(index === list.length, `${event.type} at ${index}`);
    this.#part = structuredClone(event.part);
    this.#text = "";
    list.push(this.#part);
  }

  #inPart(index: number, list: Json[]): void {
    check(this.#part !== undefined && index === list.length - 1, `content of part ${index}, which is not open`);
  }

  #closePart(event: Json, index: number, list: Json[]): void {
    this.#inPart(index, list);
    check(same(event.part, this.#part), `${event.type}: ${JSON.stringify(event.part)}`);
    this.#part = undefined;
  }
}
