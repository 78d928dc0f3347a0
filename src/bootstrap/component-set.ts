import { foundationComponents } from "./foundation-components.ts";
import type { GatewayComponentSet, GatewayInput } from "./gateway-components.ts";
import { servingComponents } from "./serving-components.ts";
import { storageComponents } from "./storage-components.ts";

/** Declares all components; nothing is started. */
export function gatewayComponents(input: GatewayInput): GatewayComponentSet {
  return { ...foundationComponents(input), ...storageComponents(input), ...servingComponents(input) };
}
