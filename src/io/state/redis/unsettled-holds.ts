import { z } from "zod";
import type { HoldRequest } from "../../../domain/admission/shared-state.ts";

export type UnsettledHold = Omit<HoldRequest, "limits"> & {
  /** The wallet generation in which it is held or was charged. */
  generation: string;
  /** `requested`: Redis has not answered yet. `charged`: the wallet has the charge, SQL does not. */
  is: "requested" | "held" | "charged";
  /** A request for it got no reply, and may reach Redis after its end. */
  mayArrive: boolean;
  /** Set when the request ended. */
  chargedNanos: bigint | undefined;
};

/**
 * What this instance took off wallets and SQL does not have yet: requests in flight, and charges that are still in the
 * journal. After Redis lost its data, wallets are rebuilt from SQL and from these.
 */
export class UnsettledHolds {
  readonly #byRequest = new Map<string, UnsettledHold>();

  get size(): number {
    return this.#byRequest.size;
  }

  /** The hold of a request in this generation; a new one replaces that of an earlier run. */
  request({ requestId, workspaceId, keyId, memberId, nanos, atMs }: HoldRequest, generation: string): UnsettledHold {
    const known = this.#byRequest.get(requestId);
    if (known !== undefined && known.generation === generation && known.chargedNanos === undefined) return known;
    const hold: UnsettledHold = {
      requestId,
      workspaceId,
      keyId,
      memberId,
      nanos,
      atMs,
      generation,
      is: "requested",
      mayArrive: false,
      chargedNanos: undefined,
    };
    this.#byRequest.set(requestId, hold);
    return hold;
  }

  get(requestId: string): UnsettledHold | undefined {
    return this.#byRequest.get(requestId);
  }

  /** A newer hold of the same request stays. */
  remove(hold: UnsettledHold): void {
    if (this.#byRequest.get(hold.requestId) === hold) this.#byRequest.delete(hold.requestId);
  }

  all(): UnsettledHold[] {
    return [...this.#byRequest.values()];
  }

  /** What this instance publishes for a rebuild, as JSON. Requests that ended without a charge hold nothing. */
  snapshot(): string {
    const lines = this.all()
      .filter(({ is, chargedNanos }) => chargedNanos !== 0n && (is !== "requested" || chargedNanos !== undefined))
      .map(({ requestId, workspaceId, keyId, memberId, nanos, atMs, chargedNanos }) => {
        const common = { requestId, workspaceId, keyId, memberId, atMs };
        return chargedNanos === undefined
          ? { ...common, kind: "h", nanos: nanos.toString() }
          : { ...common, kind: "c", nanos: chargedNanos.toString() };
      });
    return JSON.stringify(lines);
  }
}

/** One line of a snapshot: `h`, a request in flight, or `c`, a charge that SQL does not have. */
const PublishedHold = z.object({
  kind: z.enum(["h", "c"]),
  requestId: z.string(),
  workspaceId: z.string(),
  keyId: z.string(),
  memberId: z.string().nullable(),
  nanos: z.string(),
  atMs: z.number(),
});
export type PublishedHold = z.infer<typeof PublishedHold>;

export function parseSnapshot(text: string): PublishedHold[] {
  return z.array(PublishedHold).parse(JSON.parse(text));
}
