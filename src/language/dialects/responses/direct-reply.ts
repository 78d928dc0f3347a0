import { parseJsonObject } from "../../../kit/json.ts";
import type { WholeAnswer } from "../../canon/answer.ts";
import { responseUses } from "../extras.ts";
import { type Ownership, outputChars, ownedResponse, usagePatch } from "./direct-response.ts";
import { decodeUsage } from "./usage.ts";

/** Ways in which an answer is over and was not given up. A server may leave the usual one out. */
const ANSWERED: ReadonlySet<unknown> = new Set(["completed", "incomplete", null, undefined]);

/** The provider's bytes with what is the gateway's; undefined when they are not an answer of this dialect. */
export function decodeReply(bytes: Buffer, ownership: Ownership): WholeAnswer | undefined {
  const body = parseJsonObject(bytes);
  if ("problem" in body) return undefined;
  const { output, status, error, id, usage } = body.value;
  if (!Array.isArray(output) || !ANSWERED.has(status) || error != null) return undefined;
  return {
    usage: decodeUsage(usage),
    uses: responseUses(output),
    upstreamId: typeof id === "string" && id !== "" ? id : null,
    outputChars: outputChars(output),
    render: (counted, shown) => ownedResponse(body, ownership, [usagePatch(body, counted, shown)]),
  };
}
