import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import type { CatalogueSnapshot, Endpoint } from "../../domain/catalogue/catalogue.ts";

type InterfaceQuery = {
  readonly modelId: string;
  readonly has: (endpoint: Endpoint) => boolean;
  readonly code: FaultCode;
  /** Name of the interface in the message. */
  readonly what: string;
};

/** A fault when no provider of the model has the interface at all, connected or not. */
export function missingInterfaceFault(
  snapshot: CatalogueSnapshot,
  { modelId, has, code, what }: InterfaceQuery,
): Fault | undefined {
  const providers = new Set((snapshot.endpointsByModel.get(modelId) ?? []).map(({ provider }) => provider));
  for (const endpoint of snapshot.endpoints.values())
    if (providers.has(endpoint.provider) && has(endpoint)) return undefined;
  const listed = [...providers].slice(0, PROVIDERS_LISTED_MAX).join(", ");
  const subject = listed === "" ? `No provider of ${modelId}` : `None of the providers of ${modelId} (${listed})`;
  const message = `${subject} has a ${what} interface. GET /v1/models lists models that do.`;
  return fault(code, { message, param: "model" });
}

const PROVIDERS_LISTED_MAX = 8;
