import type { Fault } from "../../../../contract/faults.ts";
import type { ResponsesRequest } from "../../../../contract/schemas/responses.ts";
import type { Call } from "../../../canon/call.ts";
import type { ConversationTurn } from "../../../canon/parts.ts";
import { toCallerParameterName } from "../../caller-parameter-names.ts";
import { toolPaths } from "./tools.ts";
import { HISTORY_PATH } from "./turns.ts";

/** Replaces canonical field names in a fault by the caller's. */
export function toCallerParameterNames(problem: Fault, request: ResponsesRequest, call: Call): Fault {
  return toCallerParameterName(problem, call, (param) => callerName(param, request, call));
}

const TURN = /^messages\.(\d+)(?:\.(.+))?$/;
const TOOL = /^tools\.(\d+)\.function\.(\w+)$/;

function callerName(param: string, request: ResponsesRequest, call: Call): string {
  if (param === "messages") return "input";
  const tool = TOOL.exec(param);
  if (tool !== null) return `${toolPaths(request)[Number(tool[1])] ?? "tools"}.${tool[2]}`;
  const turn = TURN.exec(param);
  const target = turn === null ? undefined : call.turns[Number(turn[1])];
  return target === undefined ? param : pathInTurn(target, turn?.[2] ?? "");
}

const PART = /^content\.(\d+)/;
const CALL = /^tool_calls\.(\d+)(?:\.function\.(\w+))?$/;

function pathInTurn({ role, parts, partPaths }: ConversationTurn, rest: string): string {
  // Only `instructions` has no item.
  if (partPaths === undefined) return "instructions";
  const [first = "input"] = partPaths;
  const part = PART.exec(rest);
  if (part !== null) return role === "tool" ? first : (partPaths[Number(part[1])] ?? first);
  const callMatch = CALL.exec(rest);
  if (callMatch !== null) {
    const paths = partPaths.filter((_, at) => parts[at]?.is === "tool_call");
    return member(paths[Number(callMatch[1])] ?? first, callMatch[2]);
  }
  return rest === "tool_call_id" ? member(first.replace(/\.output$/, ""), "call_id") : first;
}

function member(path: string, name: string | undefined): string {
  return name === undefined || path === HISTORY_PATH ? path : `${path}.${name}`;
}
