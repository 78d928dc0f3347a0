import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

/** Why nothing can be stored now. */
export type NoRoom =
  | { readonly is: "full"; readonly usedBytes: number; readonly maxBytes: number }
  /** The remaining disk space is reserved for the journal. */
  | { readonly is: "low_disk" };

type Storage = Pick<ResponsesDeps, "store" | "bytesMax" | "diskIsLow">;

/** Undefined when the bytes fit into the workspace's quota. */
export function noRoomFor(
  { store, bytesMax, diskIsLow }: Storage,
  workspaceId: string,
  moreBytes: number,
): NoRoom | undefined {
  if (diskIsLow()) return { is: "low_disk" };
  const usedBytes = store.bytesOf(workspaceId);
  return usedBytes + moreBytes > bytesMax ? { is: "full", usedBytes, maxBytes: bytesMax } : undefined;
}

const FULL_RETRY_AFTER_SECONDS = 60;

const INSTEAD = {
  store: "send store: false",
  background: "leave background out, with store: false",
} as const;

/** Rejects a request for storage before any upstream call. */
export function noRoomFault(why: NoRoom, param: keyof typeof INSTEAD): Fault {
  if (why.is === "low_disk")
    return fault("service_unavailable", {
      message: `Field "${param}": the gateway stores nothing more now, since its disk is almost full (GATEWAY_DISK_FREE_MIN_BYTES). Try again later, or ${INSTEAD[param]}.`,
      param,
      headers: { "retry-after": String(FULL_RETRY_AFTER_SECONDS) },
    });
  return invalidValue(
    param,
    `the stored responses of this workspace take ${why.usedBytes} bytes and this answer does not fit into its ${why.maxBytes} (GATEWAY_RESPONSES_MAX_BYTES). Delete responses, or ${INSTEAD[param]}`,
  );
}
