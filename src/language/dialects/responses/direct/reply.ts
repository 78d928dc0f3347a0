import { type JsonObject, parseJsonObject } from "../../../../kit/json.ts";
import type { WholeAnswer } from "../../../canon/reply.ts";
import { responsePrompts, responseUses } from "../../extras.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { type Ownership, outputWeight, ownedResponse, usagePatch } from "./response.ts";

/** Ways in which an answer is over and was not given up. A server may leave the usual one out. */
const ANSWERED: ReadonlySet<unknown> = new Set(["completed", "incomplete", null, undefined]);

/** A response that is over and was not given up, with its items. */
export function isAnswer({ output, status, error }: JsonObject): boolean {
  return Array.isArray(output) && ANSWERED.has(status) && error == null;
}

/** The provider's bytes with what is the gateway's; undefined when they are not an answer of this dialect. */
export function decodeReply(bytes: Buffer, ownership: Ownership): WholeAnswer | undefined {
  const body = parseJsonObject(bytes);
  if ("problem" in body || !isAnswer(body.value)) return undefined;
  const { id, usage } = body.value;
  const output = Array.isArray(body.value["output"]) ? body.value["output"] : [];
  return {
    usage: decodeUsage(usage),
    uses: responseUses(output),
    inputs: responsePrompts(output),
    upstreamId: typeof id === "string" && id !== "" ? id : null,
    outputWeight: outputWeight(output),
    render: (counted, shown) => ownedResponse(body, ownership, [usagePatch(body, counted, shown)]),
  };
}
