import type { Call } from "./network.ts";
import type { Trouble } from "./script.ts";

/** Failures that can only be the endpoint's fault. */
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
/** Failures with Retry-After open the circuit for that time. */
const WITH_RETRY_AFTER: ReadonlySet<Trouble | "well"> = new Set<Trouble>(["429_soon", "429_later", "503_soon"]);

const IN_A_ROW = 5;
const OPEN_MS = 30_000;

type EndpointHistory = { inARow: number; openedAtMs: number | undefined; hasFailed: boolean; isClear: boolean };

/**
 * Which circuits must be open, seen from the network and with every doubt in the gateway's favour: five consecutive
 * failures, none of them aborted by the gateway, and the first 30 seconds after the fifth.
 */
export class CircuitModel {
  readonly #standings = new Map<string, EndpointHistory>();

  /** A new process starts without the old one's observations. */
  forget(): void {
    this.#standings.clear();
  }

  /** A call ended by itself, with its caller still connected. */
  ended({ endpointId, trouble }: Call, nowMs: number): void {
    const standing = this.#of(endpointId);
    if (trouble !== "well") standing.hasFailed = true;
    if (WITH_RETRY_AFTER.has(trouble)) standing.isClear = false;
    standing.inARow = BLAMED.has(trouble) ? standing.inARow + 1 : 0;
    if (standing.inARow === IN_A_ROW) standing.openedAtMs = nowMs;
    if (standing.inARow === 0) standing.openedAtMs = undefined;
  }

  /** A call whose end gives the gateway no information, or one that is not visible here. */
  unclear(endpointId: string): void {
    const standing = this.#of(endpointId);
    standing.hasFailed = true;
    standing.isClear = false;
  }

  /** Since when the circuit must be open; undefined if that is not certain. */
  since(endpointId: string, nowMs: number): number | undefined {
    const { openedAtMs, isClear } = this.#of(endpointId);
    return isClear && openedAtMs !== undefined && nowMs < openedAtMs + OPEN_MS ? openedAtMs : undefined;
  }

  /** It never failed. */
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
