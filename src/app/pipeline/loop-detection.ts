import { fault } from "../../contract/faults.ts";

/** Lists the deployments that a request has passed; nodes and providers may be gateways, too. */
export const HOP_HEADER = "x-svc-hop";

const DEPLOYMENT_MARK = /^[\w-]{1,64}$/;
const HOPS_MAX = 8;

export function parseHops(header: string | string[]): readonly string[] {
  return String(header)
    .split(",")
    .map((one) => one.trim())
    .filter((one) => DEPLOYMENT_MARK.test(one));
}

/** Rejects a request that this deployment sent itself, or that passed too many gateways. */
export function rejectLoop(hops: readonly string[], mark: string): void {
  if (hops.includes(mark))
    throw fault("loop_detected", {
      message:
        "The request came from this gateway itself: the local server of a node, or the base URL of a provider, is this gateway. Set it to a model server.",
    });
  if (hops.length > HOPS_MAX)
    throw fault("loop_detected", {
      message: `The request passed through more than ${HOPS_MAX} gateways. Set one of them to a provider.`,
    });
}
