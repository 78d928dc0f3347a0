import type { BatchHead, BatchOrigin, ClaimedPart, PauseReason, StopReason } from "../../domain/batches/batch.ts";
import { isProblem, parseLine } from "./batch-lines.ts";
import type { BatchesDeps, LineEndpoint } from "./batches-context.ts";
import { linesIn } from "./line-chunker.ts";
import type { LineRunner } from "./line-runner.ts";
import { settleRemains } from "./settle-remains.ts";

type QueuedLine = { readonly line: number; readonly text: string; readonly failures: number; readonly dueMs: number };

/** Why a part ends before its last line. */
export type PartInterruption =
  | { readonly is: "unfunded"; readonly reason: PauseReason }
  | { readonly is: "stop"; readonly reason: StopReason }
  | { readonly is: "unsettled" };

/** One claimed part of a batch: its lines that have no outcome yet. */
export class PartRun {
  readonly part: ClaimedPart;
  head: BatchHead;
  readonly #deps: BatchesDeps;
  readonly #runner: LineRunner;
  readonly #endpoint: LineEndpoint;
  readonly #origin: BatchOrigin;
  readonly #queue: QueuedLine[];
  #running = 0;
  #interruption: PartInterruption | undefined;
  #released = false;

  private constructor(
    deps: BatchesDeps,
    runner: LineRunner,
    claimed: { readonly head: BatchHead; readonly part: ClaimedPart; readonly origin: BatchOrigin },
    work: { readonly endpoint: LineEndpoint; readonly queue: QueuedLine[] },
  ) {
    this.#deps = deps;
    this.#runner = runner;
    this.head = claimed.head;
    this.part = claimed.part;
    this.#origin = claimed.origin;
    this.#endpoint = work.endpoint;
    this.#queue = work.queue;
  }

  /** Undefined: its input is gone. Records of an earlier run are settled first. */
  static async open(
    deps: BatchesDeps,
    runner: LineRunner,
    claimed: { readonly head: BatchHead; readonly part: ClaimedPart; readonly origin: BatchOrigin },
  ): Promise<PartRun | undefined> {
    const { head, part } = claimed;
    const endpoint = deps.endpoints.get(head.endpoint);
    const input = { id: head.inputFileId, workspaceId: head.workspaceId };
    const chunk = await deps.files.chunk(input, part.number);
    if (endpoint === undefined || chunk === undefined) return undefined;
    const remains = await deps.batches.partRemains(part);
    await settleRemains(deps, remains);
    const queue = linesIn(chunk).flatMap((text, at) => {
      const line = part.firstLine + at;
      return remains.done.has(line) ? [] : [{ line, text, failures: 0, dueMs: 0 }];
    });
    return new PartRun(deps, runner, claimed, { endpoint, queue });
  }

  get running(): number {
    return this.#running;
  }

  get interruption(): PartInterruption | undefined {
    return this.#interruption;
  }

  /** No line runs and none will. */
  get isOver(): boolean {
    return this.#running === 0 && (this.#queue.length === 0 || this.#interruption !== undefined || this.#released);
  }

  get isComplete(): boolean {
    return this.#running === 0 && this.#queue.length === 0 && this.#interruption === undefined;
  }

  /** Starts no further line. */
  release(): void {
    this.#released = true;
  }

  hasDueLine(monotonicMs: number): boolean {
    return !this.#isHalted && this.#queue.some(({ dueMs }) => dueMs <= monotonicMs);
  }

  get #isHalted(): boolean {
    return this.#released || this.#interruption !== undefined;
  }

  /** Runs the next line that is due; `ended` is called when it has ended. */
  startNext(monotonicMs: number, ended: () => void): void {
    const at = this.#queue.findIndex(({ dueMs }) => dueMs <= monotonicMs);
    const [queued] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (queued === undefined) return;
    this.#running += 1;
    void this.#run(queued).finally(() => {
      this.#running -= 1;
      ended();
    });
  }

  async #run(queued: QueuedLine): Promise<void> {
    const { head, part } = this;
    const { clock, callerOf, mayKeep } = this.#deps;
    const requeue = (dueMs: number, failures: number) => this.#queue.push({ ...queued, dueMs, failures });
    const principal = callerOf(head.keyId, this.#endpoint.route);
    const request = parseLine(queued.text, head);
    if (principal === undefined || !mayKeep(head.workspaceId, head.keyId) || isProblem(request)) {
      requeue(0, queued.failures);
      const reason = principal === undefined ? "key_invalid" : "retention_forbidden";
      this.#interruption ??= { is: "stop", reason };
      return;
    }
    const { line, failures } = queued;
    const result = await this.#runner.run({
      head,
      origin: this.#origin,
      endpoint: this.#endpoint,
      principal,
      part: part.number,
      line,
      request,
      failures,
    });
    switch (result.is) {
      case "done":
        return;
      case "retry":
        requeue(clock.monotonicMs() + result.afterMs, failures + 1);
        return;
      case "unfunded":
        requeue(0, failures);
        this.#interruption ??= result;
        return;
      case "unsettled":
        this.#interruption ??= result;
    }
  }
}
