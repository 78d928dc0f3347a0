import { type JsonObject, parseJsonObject } from "../../../../kit/json.ts";
import type { WholeReply } from "../../../canon/reply.ts";
import { extraUsesInResponse, promptCountInResponse } from "../../extras.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { outputWeight, ownedResponse, type ResponseOwnership, usagePatch } from "./response.ts";

/** Ways in which an answer is over and was not given up. A server may leave the usual one out. */
const COMPLETE_STATUSES: ReadonlySet<unknown> = new Set(["completed", "incomplete", null, undefined]);

/** A response that is over and was not given up, with its items. */
export function isCompleteResponse({ output, status, error }: JsonObject): boolean {
  return Array.isArray(output) && COMPLETE_STATUSES.has(status) && error == null;
}

/** The provider's bytes with what is the gateway's; undefined when they are not an answer of this dialect. */
export function decodeDirectReply(bytes: Buffer, ownership: ResponseOwnership): WholeReply | undefined {
  const body = parseJsonObject(bytes);
  if ("problem" in body || !isCompleteResponse(body.value)) return undefined;
  const { id, usage } = body.value;
  const output = Array.isArray(body.value["output"]) ? body.value["output"] : [];
  return {
    usage: decodeUsage(usage),
    extraUses: extraUsesInResponse(output),
    promptCount: promptCountInResponse(output),
    upstreamId: typeof id === "string" && id !== "" ? id : null,
    outputWeight: outputWeight(output),
    render: (counted, shown) => ownedResponse(body, ownership, [usagePatch(body, counted, shown)]),
  };
}
