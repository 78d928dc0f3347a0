import { sha256Hex } from "../../kit/secret.ts";
import type { Call } from "../canon/call.ts";
import type { ConversationTurn, Part } from "../canon/parts.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import type { ReplyEventReader } from "./upstream-dialect.ts";

/** Limit of most dialects; some callers may send longer names. */
export const TOOL_NAME_MAX = 64;

/** A call with shortened tool names, and the reverse mapping for its reply. */
type ShortenedToolNames = {
  readonly call: Call;
  restoreNames(events: readonly ReplyEvent[]): readonly ReplyEvent[];
  reader(reader: ReplyEventReader): ReplyEventReader;
};

/** The mapping is stable, so that earlier turns and prompt caches stay valid. */
export function shortenToolNames(call: Call, max: number): ShortenedToolNames {
  const short = new Map<string, string>();
  for (const name of toolNamesIn(call)) if (name.length > max) short.set(name, shortenName(name, max));
  if (short.size === 0) return { call, restoreNames: (events) => events, reader: (reader) => reader };
  const long = new Map([...short].map(([name, shortened]) => [shortened, name]));
  const restoreNames = (events: readonly ReplyEvent[]): readonly ReplyEvent[] =>
    events.map((event) => (event.is === "tool_call" ? { ...event, name: long.get(event.name) ?? event.name } : event));
  return {
    call: renameTools(call, (name) => short.get(name) ?? name),
    restoreNames,
    reader: (reader) => ({
      read(frame) {
        const events = reader.read(frame);
        return events === undefined ? undefined : restoreNames(events);
      },
    }),
  };
}

const HEAD_CHARS = 10;
const DIGEST_CHARS = 12;

/** Keeps both ends readable for the model; a digest in between prevents collisions. */
function shortenName(name: string, max: number): string {
  const head = `${name.slice(0, HEAD_CHARS)}_${sha256Hex(name).slice(0, DIGEST_CHARS)}_`;
  return head + name.slice(head.length - max);
}

function toolNamesIn({ turns, tools, toolChoice, openAiParameters }: Call): string[] {
  const called = turns.flatMap(({ parts }) => parts.flatMap((part) => (part.is === "tool_call" ? [part.name] : [])));
  const demanded = toolChoice?.is === "named" ? [toolChoice.name] : [];
  return [...tools.map(({ name }) => name), ...demanded, ...allowedToolNames(openAiParameters), ...called];
}

function allowedToolNames(parameters: Call["openAiParameters"]): string[] {
  const allowed = parameters?.allowed_tools;
  return Array.isArray(allowed) ? allowed.map(String) : [];
}

function renameTools(call: Call, wire: (name: string) => string): Call {
  const { turns, tools, toolChoice, openAiParameters } = call;
  const part = (item: Part): Part => (item.is === "tool_call" ? { ...item, name: wire(item.name) } : item);
  const turn = (item: ConversationTurn): ConversationTurn => ({ ...item, parts: item.parts.map(part) });
  return {
    ...call,
    turns: turns.map(turn),
    tools: tools.map((tool) => ({ ...tool, name: wire(tool.name) })),
    toolChoice: toolChoice?.is === "named" ? { is: "named", name: wire(toolChoice.name) } : toolChoice,
    ...(openAiParameters?.allowed_tools === undefined
      ? {}
      : { openAiParameters: { ...openAiParameters, allowed_tools: allowedToolNames(openAiParameters).map(wire) } }),
  };
}
