import type { Json } from "./gateway.ts";

/**
 * The events of a stream of the messages dialect; fails when a frame's name and its type differ. Comments are
 * heartbeats, and come whenever the machine was busy for that long.
 */
export function messageEvents(text: string): Json[] {
  return text
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => {
      const [name = "", data = ""] = frame.split("\n");
      const event = JSON.parse(data.replace(/^data: /, ""));
      if (name !== `event: ${event.type}`) throw new Error(`the frame ${name} holds ${event.type}`);
      return event;
    });
}

/**
 * Assembles a message from its stream as a strict client does: one start, blocks one after the other with rising
 * indexes, deltas only for the open block, then one message_delta and the end.
 */
export function foldMessage(text: string): Json {
  let message: Json;
  let open: number | undefined;
  let stopped = false;
  let over = false;
  const inputs = new Map<number, string>();
  const demand = (ok: boolean, what: string) => {
    if (!ok) throw new Error(what);
  };
  for (const event of messageEvents(text)) {
    demand(!over, `${event.type} after the end`);
    if (event.type === "ping") continue;
    demand((message === undefined) === (event.type === "message_start"), `${event.type} in the wrong place`);
    switch (event.type) {
      case "message_start":
        message = structuredClone(event.message);
        break;
      case "content_block_start":
        demand(open === undefined && !stopped, "a block opens inside another one");
        demand(event.index === message.content.length, `block ${event.index} is out of order`);
        open = event.index;
        message.content.push(structuredClone(event.content_block));
        break;
      case "content_block_delta":
        demand(event.index === open, `a delta for block ${event.index} while ${open} is open`);
        grow(message.content[event.index], event.delta, event.index, inputs);
        break;
      case "content_block_stop":
        demand(event.index === open, `block ${event.index} closes while ${open} is open`);
        open = undefined;
        break;
      case "message_delta":
        demand(open === undefined && !stopped, "message_delta comes too early or twice");
        stopped = true;
        Object.assign(message, event.delta);
        Object.assign(message.usage, event.usage);
        break;
      case "message_stop":
        demand(stopped, "the end comes before message_delta");
        over = true;
        break;
      default:
        throw new Error(`an event of type ${event.type}`);
    }
  }
  demand(over, "the stream has no end");
  for (const [index, json] of inputs) message.content[index].input = parsed(json);
  return message;
}

function grow(block: Json, delta: Json, index: number, inputs: Map<number, string>): void {
  switch (delta.type) {
    case "text_delta":
      block.text += delta.text;
      return;
    case "thinking_delta":
      block.thinking += delta.thinking;
      return;
    case "signature_delta":
      block.signature = delta.signature;
      return;
    case "citations_delta":
      block.citations = [...(block.citations ?? []), delta.citation];
      return;
    case "input_json_delta":
      inputs.set(index, (inputs.get(index) ?? "") + delta.partial_json);
      return;
    default:
      throw new Error(`a delta of type ${delta.type}`);
  }
}

function parsed(json: string): Json {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
