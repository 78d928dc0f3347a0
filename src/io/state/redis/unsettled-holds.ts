import { z } from "zod";
import type { HoldRequest } from "../../../domain/admission/shared-state.ts";

export type Holding = Omit<HoldRequest, "limits"> & {
  /** In which it is held, or was charged. */
  epoch: string;
  /** `asked`: nobody has answered yet. `held`, and `charged` once the wallet has what it came to. */
  is: "asked" | "held" | "charged";
  /** What it came to, once it is over. */
  chargedNanos: bigint | undefined;
};

/**
 * What this instance has taken off wallets and SQL does not have yet: requests that run, and charges on their way
 * through the journal. When Redis has lost everything, it is filled from SQL and from these.
 */
export class Holdings {
  readonly #holdings = new Map<string, Holding>();

  get size(): number {
    return this.#holdings.size;
  }

  ask({ requestId, workspaceId, keyId, memberId, nanos, atMs }: HoldRequest, epoch: string): Holding {
    const known = this.#holdings.get(requestId);
    if (known !== undefined && known.epoch === epoch && known.chargedNanos === undefined) return known;
    const holding: Holding = {
      requestId,
      workspaceId,
      keyId,
      memberId,
      nanos,
      atMs,
      epoch,
      is: "asked",
      chargedNanos: undefined,
    };
    this.#holdings.set(requestId, holding);
    return holding;
  }

  of(requestId: string): Holding | undefined {
    return this.#holdings.get(requestId);
  }

  /** Only this one: another may have taken its name meanwhile. */
  forget(holding: Holding): void {
    if (this.#holdings.get(holding.requestId) === holding) this.#holdings.delete(holding.requestId);
  }

  all(): Holding[] {
    return [...this.#holdings.values()];
  }

  /** For whoever fills the wallets. What is over and cost nothing holds nothing any more. */
  written(): string {
    const lines = this.all()
      .filter(({ is, chargedNanos }) => chargedNanos !== 0n && (is !== "asked" || chargedNanos !== undefined))
      .map(({ requestId, workspaceId, keyId, memberId, nanos, atMs, chargedNanos }) => {
        const told = { requestId, workspaceId, keyId, memberId, atMs };
        return chargedNanos === undefined
          ? { ...told, kind: "h", nanos: nanos.toString() }
          : { ...told, kind: "c", nanos: chargedNanos.toString() };
      });
    return JSON.stringify(lines);
  }
}

/** One line of what an instance told: a request that runs, or a charge that SQL does not have. */
const Told = z.object({
  kind: z.enum(["h", "c"]),
  requestId: z.string(),
  workspaceId: z.string(),
  keyId: z.string(),
  memberId: z.string().nullable(),
  nanos: z.string(),
  atMs: z.number(),
});
export type Told = z.infer<typeof Told>;

export function readTold(text: string): Told[] {
  return z.array(Told).parse(JSON.parse(text));
}
