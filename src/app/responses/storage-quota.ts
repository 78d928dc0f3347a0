import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

/** Why nothing can be stored now. */
export type StorageRefusal =
  | { readonly is: "full"; readonly usedBytes: number; readonly maxBytes: number }
  /** The remaining disk space is reserved for the journal. */
  | { readonly is: "low_disk" };

type StorageDeps = Pick<ResponsesDeps, "store" | "bytesMax" | "diskIsLow">;

/** Undefined when the bytes fit into the workspace's quota. */
export function storageRefusalFor(
  { store, bytesMax, diskIsLow }: StorageDeps,
  workspaceId: string,
  moreBytes: number,
): StorageRefusal | undefined {
  if (diskIsLow()) return { is: "low_disk" };
  const usedBytes = store.bytesOf(workspaceId);
  return usedBytes + moreBytes > bytesMax ? { is: "full", usedBytes, maxBytes: bytesMax } : undefined;
}

const FULL_RETRY_AFTER_SECONDS = 60;

const ALTERNATIVES = {
  store: "send store: false",
  background: "omit background, with store: false",
} as const;

/** Rejects a request for storage before any upstream call. */
export function storageFault(refusal: StorageRefusal, param: keyof typeof ALTERNATIVES): Fault {
  if (refusal.is === "low_disk")
    return fault("service_unavailable", {
      message: `Field "${param}": the gateway stores no more responses, because its disk is almost full (GATEWAY_DISK_FREE_MIN_BYTES). Try again later, or ${ALTERNATIVES[param]}.`,
      param,
      headers: { "retry-after": String(FULL_RETRY_AFTER_SECONDS) },
    });
  return invalidValue(
    param,
    `the stored responses of this workspace use ${refusal.usedBytes} bytes, and this response would exceed the limit of ${refusal.maxBytes} (GATEWAY_RESPONSES_MAX_BYTES). Delete responses, or ${ALTERNATIVES[param]}`,
  );
}
