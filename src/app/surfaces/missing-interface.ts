import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import type { CatalogueSnapshot, Endpoint } from "../../domain/catalogue/catalogue.ts";

type Missing = {
  readonly modelId: string;
  /** Whether an endpoint has the interface. */
  readonly has: (endpoint: Endpoint) => boolean;
  readonly code: FaultCode;
  /** What the interface is for, in a sentence. */
  readonly what: string;
};

/** A model whose providers have no such interface at all cannot be helped by connecting one or by another price. */
export function noInterface(snapshot: CatalogueSnapshot, { modelId, has, code, what }: Missing): Fault | undefined {
  const providers = new Set((snapshot.endpointsByModel.get(modelId) ?? []).map(({ provider }) => provider));
  for (const endpoint of snapshot.endpoints.values())
    if (providers.has(endpoint.provider) && has(endpoint)) return undefined;
  const named = [...providers].slice(0, NAMED_MAX).join(", ");
  const who = named === "" ? `No provider of ${modelId}` : `None of the providers of ${modelId} (${named})`;
  const message = `${who} has an interface for ${what}. GET /v1/models lists models that serve it.`;
  return fault(code, { message, param: "model" });
}

const NAMED_MAX = 8;
