import type { LineOutcome } from "../../domain/batches/batch.ts";
import { type BatchStore, outcomeKey } from "../../domain/batches/batch-store.ts";

const WRITE_MAX = 200;

type PendingOutcome = {
  readonly outcome: LineOutcome;
  resolve(isFirst: boolean): void;
  reject(error: unknown): void;
};

/** Stores outcomes in groups: one commit costs the same for one as for many. */
export class OutcomeWriter {
  readonly #store: Pick<BatchStore, "saveOutcomes">;
  #waiting: PendingOutcome[] = [];
  #isWriting = false;

  constructor(store: Pick<BatchStore, "saveOutcomes">) {
    this.#store = store;
  }

  /** False when the line already has an outcome, which stays. */
  save(outcome: LineOutcome): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ outcome, resolve, reject });
      void this.#write();
    });
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    // Outcomes of this event-loop turn go into one commit.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, WRITE_MAX);
      try {
        const stored = await this.#store.saveOutcomes(group.map(({ outcome }) => outcome));
        for (const { outcome, resolve } of group) resolve(stored.has(outcomeKey(outcome)));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#isWriting = false;
  }
}
