import { fault } from "../../contract/faults.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

/** Lists the deployments that a request has passed; nodes and providers may be gateways, too. */
export const HOP_HEADER = "x-svc-hop";

const DEPLOYMENT_MARK = /^[\w-]{1,64}$/;
const HOPS_MAX = 8;
const NONE: readonly string[] = [];

export function parseHops(header: string | string[] | undefined): readonly string[] {
  if (header === undefined) return NONE;
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

export function appendHop(hops: readonly string[], mark: string): string {
  return hops === NONE ? mark : [...hops, mark].join(", ");
}

/** The header is sent to addresses that may be gateways, and always once a request has passed one. */
export function shouldSendHops(
  hops: readonly string[],
  { everywhere }: GatewayDeps["loopDetection"],
  attempt: HopTarget,
): boolean {
  return everywhere || hops.length > 0 || !isCatalogueAddress(attempt);
}

type HopTarget = Pick<Attempt, "node" | "baseUrl"> & { readonly endpoint: Pick<Attempt["endpoint"], "baseUrl"> };

/** True for the catalogue's own address, or a cloud project below it; such addresses are no gateways. */
function isCatalogueAddress({ node, baseUrl, endpoint: { baseUrl: catalogueUrl } }: HopTarget): boolean {
  return (
    node === undefined && catalogueUrl !== null && (baseUrl === catalogueUrl || baseUrl.startsWith(`${catalogueUrl}/`))
  );
}
