import { fault } from "../../contract/faults.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

/** The gateways that a request has passed, each by the mark of its deployment. Nodes and providers may be gateways, too. */
export const HOP_HEADER = "x-svc-hop";

const MARK = /^[\w-]{1,64}$/;
const HOPS_MAX = 8;
const NONE: readonly string[] = [];

export function parseHops(header: string | string[] | undefined): readonly string[] {
  if (header === undefined) return NONE;
  return String(header)
    .split(",")
    .map((one) => one.trim())
    .filter((one) => MARK.test(one));
}

/** A request that its own route leads back here would go round until no place is free. */
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

export function appendHop(hops: readonly string[], mark: string): string {
  return hops === NONE ? mark : [...hops, mark].join(", ");
}

/** Whoever may be a gateway is told, and everybody whom a request reaches that has passed one. */
export function shouldSendHops(
  hops: readonly string[],
  { everywhere }: GatewayDeps["loopDetection"],
  attempt: HopTarget,
): boolean {
  return everywhere || hops.length > 0 || !isCatalogueAddress(attempt);
}

type HopTarget = Pick<Attempt, "node" | "baseUrl"> & { readonly endpoint: Pick<Attempt["endpoint"], "baseUrl"> };

/** Asked where the catalogue says that it is, or behind that in a cloud's project: no node, and no address that somebody set. */
function isCatalogueAddress({ node, baseUrl, endpoint: { baseUrl: home } }: HopTarget): boolean {
  return node === undefined && home !== null && (baseUrl === home || baseUrl.startsWith(`${home}/`));
}
