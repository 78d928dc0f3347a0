import type { Fault } from "../../../../contract/faults.ts";
import type { ConversationTurn } from "../../../canon/parts.ts";
import { toCallerParameterName } from "../../caller-parameter-names.ts";
import type { DecodedGemini } from "./request.ts";

/** Replaces canonical field names in a fault by the caller's. */
export function toCallerParameterNames(problem: Fault, decoded: DecodedGemini): Fault {
  return toCallerParameterName(problem, decoded.call, (param) => callerName(param, decoded));
}

const TURN = /^messages\.(\d+)(?:\.(.+))?$/;
const TOOL = /^tools\.(\d+)\.function\.(\w+)$/;

function callerName(param: string, { call, toolPaths }: DecodedGemini): string {
  if (param === "messages") return "contents";
  if (param.startsWith("response_format.")) return call.parameterNames?.response_format ?? param;
  const tool = TOOL.exec(param);
  if (tool !== null) return `${toolPaths[Number(tool[1])] ?? "tools"}.${tool[2]}`;
  const turn = TURN.exec(param);
  const target = turn === null ? undefined : call.turns[Number(turn[1])];
  return target === undefined ? param : pathInTurn(target, turn?.[2] ?? "");
}

const PART = /^content\.(\d+)/;
const CALL = /^tool_calls\.(\d+)(?:\.function\.(\w+))?$/;
const CALL_FIELDS: Readonly<Record<string, string>> = { name: "name", arguments: "args" };

function pathInTurn({ parts, partPaths = [] }: ConversationTurn, rest: string): string {
  const [first = "contents"] = partPaths;
  const part = PART.exec(rest);
  if (part !== null) return partPaths[Number(part[1])] ?? first;
  const call = CALL.exec(rest);
  if (call !== null) {
    const path = partPaths.filter((_, at) => parts[at]?.is === "tool_call")[Number(call[1])] ?? first;
    const field = CALL_FIELDS[call[2] ?? ""];
    return field === undefined ? `${path}.functionCall` : `${path}.functionCall.${field}`;
  }
  if (rest !== "tool_call_id") return first;
  return partPaths.find((_, at) => parts[at]?.is === "tool_result") ?? first;
}
