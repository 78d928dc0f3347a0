import { fault } from "../../contract/faults.ts";

/** The gateways that a request has passed, each by the mark of its deployment. Nodes and providers may be gateways, too. */
export const HOP_HEADER = "x-svc-hop";

const MARK = /^[\w-]{1,64}$/;
const HOPS_MAX = 8;
const NONE: readonly string[] = [];

export function readHops(said: string | string[] | undefined): readonly string[] {
  if (said === undefined) return NONE;
  return String(said)
    .split(",")
    .map((one) => one.trim())
    .filter((one) => MARK.test(one));
}

/** A request that its own route leads back here would go round until no place is free. */
export function demandNoLoop(hops: readonly string[], mark: string): void {
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

export function hopsOnward(hops: readonly string[], mark: string): string {
  return hops === NONE ? mark : [...hops, mark].join(", ");
}
