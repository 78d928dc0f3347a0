import { type Fault, fault } from "../../contract/faults.ts";
import { type Endpoint, isExtraPriced } from "../catalogue/catalogue.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { Attempt } from "./reachable-endpoint.ts";
import type { DialectSupport, MissingCapability, Requirements } from "./requirements.ts";

/** The first requested feature that the endpoint has, but that this workspace may not use there. */
export function findRestrictedFeature(
  attempt: Attempt,
  requirements: Requirements,
  policy: Policy,
  support: DialectSupport,
): MissingCapability | undefined {
  return (
    findUnpricedExtra(attempt, requirements, support) ??
    findInaccessibleFile(attempt, requirements) ??
    findUnpermittedModels(attempt.endpoint, requirements, policy, support)
  );
}

/**
 * A separately billed feature without a price in the catalogue would be free of charge on the operator's key. Tools that are
 * only offered are dropped instead, features that are never more expensive use the normal price, and an own key is not charged.
 */
function findUnpricedExtra(
  { endpoint, price, ownKey }: Attempt,
  { extras }: Requirements,
  support: DialectSupport,
): MissingCapability | undefined {
  if (extras === undefined || ownKey !== undefined) return undefined;
  for (const { name, field, forwarding, isCheaper, toolIndex } of extras) {
    if (toolIndex !== undefined || isCheaper || isExtraPriced(price, name)) continue;
    if (forwarding === "native" && support.isNative?.(endpoint) !== true) continue;
    const what = name.replaceAll("_", " ");
    const reason = `bills it separately (${what}) at a price unknown to this gateway; available with the workspace's own provider key`;
    return { reason, param: field };
  }
  return undefined;
}

/**
 * Files cannot be uploaded through the gateway, so a file id in the operator's account belongs to someone else. With an own
 * key or node it belongs to the workspace.
 */
function findInaccessibleFile({ ownKey, node }: Attempt, { needs }: Requirements): MissingCapability | undefined {
  if (ownKey !== undefined || node !== undefined) return undefined;
  const file = needs.find(({ need }) => need === "uploaded_file");
  if (file === undefined) return undefined;
  const reason = "uses an account without data of the workspace; available with the workspace's own provider key";
  return { reason, param: file.param };
}

/** An extra that makes the provider call other models bypasses the policy's list of allowed models. */
export function findUnpermittedModels(
  endpoint: Endpoint,
  { extras }: Requirements,
  { allowedModels }: Policy,
  support: DialectSupport,
): (MissingCapability & { readonly fault: Fault }) | undefined {
  if (extras === undefined || allowedModels === null) return undefined;
  const extra = extras.find(({ name }) => name === "other_models");
  if (extra === undefined || support.isNative?.(endpoint) !== true) return undefined;
  const { field } = extra;
  const message = `Field "${field}": it lets the provider call other models, but the policy restricts models. Omit it, or ask an admin to change the allowed models.`;
  const reason = "would call models that the policy does not allow";
  return { reason, param: field, fault: fault("model_not_permitted", { message, param: field }) };
}
