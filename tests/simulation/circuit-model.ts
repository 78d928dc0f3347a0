import type { Call } from "./network.ts";
import type { Trouble } from "./script.ts";

/** Failures that nobody could blame on anyone but the endpoint. */
const BLAMED: ReadonlySet<Trouble | "well"> = new Set<Trouble>([
  "refused",
  "connect_timeout",
  "silent",
  "reset",
  "429",
  "500",
  "502",
  "503",
  "504",
  "cut_early",
  "stall_early",
]);
/** Who says when to come back is treated by its own word. */
const WITH_RETRY_AFTER: ReadonlySet<Trouble | "well"> = new Set<Trouble>(["429_soon", "429_later", "503_soon"]);

const IN_A_ROW = 5;
const OPEN_MS = 30_000;

type EndpointHistory = { inARow: number; openedAtMs: number | undefined; hasFailed: boolean; isClear: boolean };

/**
 * Who must be set aside, seen from the wires and with every doubt in the gateway's favour: five failures in a row, none
 * of them cut short by the gateway, and the first half minute after the fifth.
 */
export class CircuitModel {
  readonly #standings = new Map<string, EndpointHistory>();

  /** A new process knows nothing of the old one's experience. */
  forget(): void {
    this.#standings.clear();
  }

  /** A call came to its own end, and its caller was still there. */
  ended({ endpointId, trouble }: Call, nowMs: number): void {
    const standing = this.#of(endpointId);
    if (trouble !== "well") standing.hasFailed = true;
    if (WITH_RETRY_AFTER.has(trouble)) standing.isClear = false;
    standing.inARow = BLAMED.has(trouble) ? standing.inARow + 1 : 0;
    if (standing.inARow === IN_A_ROW) standing.openedAtMs = nowMs;
    if (standing.inARow === 0) standing.openedAtMs = undefined;
  }

  /** A call whose end tells the gateway nothing, or something that is not seen here. */
  unclear(endpointId: string): void {
    const standing = this.#of(endpointId);
    standing.hasFailed = true;
    standing.isClear = false;
  }

  /** Since when it must be aside; undefined where that is not certain. */
  since(endpointId: string, nowMs: number): number | undefined {
    const { openedAtMs, isClear } = this.#of(endpointId);
    return isClear && openedAtMs !== undefined && nowMs < openedAtMs + OPEN_MS ? openedAtMs : undefined;
  }

  /** Nothing was ever wrong with it. */
  isSpotless(endpointId: string): boolean {
    return !this.#of(endpointId).hasFailed;
  }

  #of(endpointId: string): EndpointHistory {
    const known = this.#standings.get(endpointId);
    if (known !== undefined) return known;
    const standing = { inARow: 0, openedAtMs: undefined, hasFailed: false, isClear: true };
    this.#standings.set(endpointId, standing);
    return standing;
  }
}
