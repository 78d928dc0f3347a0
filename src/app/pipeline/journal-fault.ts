import { fault } from "../../contract/faults.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

/** Paid requests are refused while their records could not be kept. */
export function journalFault({ isBroken }: GatewayDeps["journal"]) {
  const cause = isBroken
    ? "cannot write its journal and refuses paid requests until it can"
    : "stores requests more slowly than they arrive and refuses paid ones until it has caught up";
  return fault("service_unavailable", {
    message: `The gateway ${cause}. Try again shortly.`,
    headers: { "retry-after": "5" },
  });
}
