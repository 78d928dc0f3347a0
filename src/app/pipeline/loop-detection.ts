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
        "This gateway sent the request itself: a node's local server, or a provider's base address, is this gateway. Point it at a model server.",
    });
  if (hops.length > HOPS_MAX)
    throw fault("loop_detected", {
      message: `The request has passed more than ${HOPS_MAX} gateways. Point one of them at a provider.`,
    });
}
