import type { Fault } from "../../../../contract/faults.ts";
import { type CountTokensRequest, type InputMessage, isKnownBlock } from "../../../../contract/schemas/messages.ts";
import type { Call } from "../../../canon/call.ts";
import { toCallerParameterName } from "../../caller-parameter-names.ts";
import { FieldNotes } from "../../field-notes.ts";
import { decodeMessage } from "./turns.ts";

/** Replaces canonical field names in a fault by the caller's. */
export function toCallerParameterNames(problem: Fault, request: CountTokensRequest, call: Call): Fault {
  return toCallerParameterName(problem, call, (param) => callerName(param, request, call));
}

const TURN = /^messages\.(\d+)(?:\.(.+))?$/;
const TOOL = /^tools\.(\d+)\.function\.(name|parameters|description)$/;
const TOOL_FIELDS: Readonly<Record<string, string>> = { parameters: "input_schema" };

function callerName(param: string, request: CountTokensRequest, call: Call): string {
  const tool = TOOL.exec(param);
  if (tool !== null) return `tools.${tool[1]}.${TOOL_FIELDS[tool[2] ?? ""] ?? tool[2]}`;
  const turn = TURN.exec(param);
  if (turn === null) return param;
  // The system prompt is a turn of the call but not a message of the request.
  const at = Number(turn[1]) - (call.turns.length - request.messages.length);
  const message = request.messages[at];
  if (message === undefined) return "system";
  return ["messages", at, ...pathInMessage(message, turn[2] ?? "", request.messages.slice(0, at))].join(".");
}

const PART = /^content\.(\d+)(\..+)?$/;
const CALL = /^tool_calls\.(\d+)(?:\.function\.(name|arguments))?$/;
const CALL_FIELDS: Readonly<Record<string, string>> = { name: "name", arguments: "input" };

function pathInMessage(message: InputMessage, rest: string, before: readonly InputMessage[]): (string | number)[] {
  if (typeof message.content === "string") return ["content"];
  const part = PART.exec(rest);
  if (part !== null) return ["content", blockOfPart(message, Number(part[1])), ...(part[2] ?? "").split(".").slice(1)];
  const call = CALL.exec(rest);
  if (call !== null) {
    const field = CALL_FIELDS[call[2] ?? ""];
    return ["content", nthBlock(message, "tool_use", Number(call[1])), ...(field === undefined ? [] : [field])];
  }
  if (rest === "tool_call_id") return ["content", unmatchedResult(message, before), "tool_use_id"];
  return rest === "" ? [] : [rest];
}

/** A block may decode to several parts or none. */
function blockOfPart(message: InputMessage, part: number): number {
  if (typeof message.content === "string") return 0;
  let parts = 0;
  for (const [at, block] of message.content.entries()) {
    parts += decodeMessage({ ...message, content: [block] }, "", new FieldNotes()).parts.length;
    if (part < parts) return at;
  }
  return message.content.length - 1;
}

function nthBlock({ content }: InputMessage, type: string, nth: number): number {
  if (typeof content === "string") return 0;
  return [...content.entries()].filter(([, block]) => block.type === type)[nth]?.[0] ?? 0;
}

function unmatchedResult(message: InputMessage, before: readonly InputMessage[]): number {
  const calls = new Set(
    before.flatMap((earlier) => knownBlocks(earlier).map((block) => ("id" in block ? block.id : ""))),
  );
  const blocks = typeof message.content === "string" ? [] : message.content;
  const stray = blocks.findIndex(
    (block) => isKnownBlock(block) && block.type === "tool_result" && !calls.has(block.tool_use_id),
  );
  return stray < 0 ? nthBlock(message, "tool_result", 0) : stray;
}

function knownBlocks({ content }: InputMessage) {
  return typeof content === "string" ? [] : content.filter(isKnownBlock);
}
