import { type Mutant, one } from "../mutants.ts";

const ADMIT = "src/app/pipeline/admit.ts";
const SETTLE = "src/app/pipeline/settle.ts";
const WALLETS = "src/io/state/memory-wallets.ts";
const PRICE = "src/domain/billing/charge.ts";
const INGEST = "src/io/store/sql/sqlite/ingest.ts";
const POST = "src/io/store/sql/ledger-store.ts";
const JOURNAL = "src/io/journal/segmented-journal.ts";
const WRITER = "src/io/journal/segment-writer.ts";
const SEGMENT_INDEX = "src/io/journal/segment-index.ts";
const INGESTER = "src/io/journal/ingester.ts";
const REPLAY = "src/io/journal/replay.ts";
const SPEND_HISTORY = "src/app/manage/money/spend-history.ts";

/** Holding: check and reservation have to be one step. */
const HOLDS: readonly Mutant[] = [
  one(
    "check-then-debit",
    "BILL-03",
    ADMIT,
    "chain(gateway.state.hold(hold),",
    `chain(gateway.state.wallet(workspace.id).then(({ balanceNanos, heldNanos }) => balanceNanos - heldNanos < nanos
      ? { is: "insufficient_credits", availableNanos: balanceNanos, neededNanos: nanos }
      : gateway.state.hold({ ...hold, nanos: 0n, limits: [] })),`,
  ),
  one(
    "limits-checked-before-the-hold",
    "BILL-04",
    ADMIT,
    "chain(gateway.state.hold(hold),",
    `chain(gateway.state.spending(workspace.id, atMs).then(() => gateway.state.hold({ ...hold, limits: [] })),`,
  ),
  one("limits-forget-what-is-held", "BILL-04", WALLETS, "spentNanos + heldNanos + nanos <=", "spentNanos + nanos <="),
  one(
    "limits-may-be-passed-once",
    "BILL-04",
    WALLETS,
    "spentNanos + heldNanos + nanos <=",
    "spentNanos + heldNanos <=",
  ),
  one(
    "wallet-forgets-what-is-held",
    "BILL-03",
    WALLETS,
    "wallet.balanceNanos - wallet.heldNanos;",
    "wallet.balanceNanos;",
  ),
  one("held-again-on-repeat", "BILL-03", WALLETS, "if (known?.isSwept === false) {", "if (known === null) {"),
  one("hold-not-counted-against-members", "BILL-04", WALLETS, "counterOn(member.total, day).heldNanos += nanos;", ";"),
  one(
    "spent-not-counted-against-workspaces",
    "BILL-04",
    WALLETS,
    "counterOn(workspace.total, day).spentNanos += nanos;",
    ";",
  ),
];

/** Settling: once, by the request's own id, with its usage. */
const ENDS: readonly Mutant[] = [
  one(
    "settle-not-idempotent",
    "BILL-02",
    WALLETS,
    "    this.#holds.delete(requestId);\n    release(hold);",
    "    release(hold);",
  ),
  one(
    "settled-under-another-id",
    "BILL-02",
    SETTLE,
    "const settling = gateway.state.settle(trace.hold,",
    "const settling = gateway.state.settle({ ...trace.hold, requestId: 'late ' + trace.requestId },",
  ),
  one("sweeper-refunds-the-settled", "BILL-03", WALLETS, "hold.wallet.balanceNanos -= chargedNanos;\n", ""),
  one(
    "sweeper-gives-back-again-and-again",
    "BILL-03",
    WALLETS,
    "    hold.isSwept = true;\n",
    "    hold.wallet.balanceNanos += 1n;\n",
  ),
  one(
    "swept-holds-settle-for-free",
    "BILL-03",
    WALLETS,
    "if (ageMs >= 2 * maxAgeMs) this.#holds.delete(requestId);",
    "this.#holds.delete(requestId);",
  ),
  one(
    "released-when-the-journal-is-slow-to-say",
    "BILL-07",
    SETTLE,
    'await gateway.journal.append({ t: "done", record });',
    `await gateway.journal.append({ t: "done", record });
    if (trace.requestId.endsWith("7")) throw new Error("after the record was written");`,
  ),
  one(
    "sent-before-the-journal",
    "BILL-07",
    SETTLE,
    'await gateway.journal.append({ t: "done", record });',
    'void gateway.journal.append({ t: "done", record }).catch(() => undefined);',
  ),
  one(
    "hold-kept-after-refusal",
    "BILL-03",
    SETTLE,
    "  await gateway.state.settle(trace.hold, 0n);\n  await recordUncharged",
    "  await recordUncharged",
  ),
  one(
    "estimates-beyond-the-hold",
    "BILL-03",
    SETTLE,
    "usage.estimated ? capCharge(charge, trace.heldNanos) : charge",
    "charge",
  ),
  one(
    "implausible-usage-accepted",
    "BILL-02",
    SETTLE,
    "return !isImplausibleUsage({ usage, outputWeight: () => metered.outputWeight, promptReads }, contextTokens, ceiling);",
    "return true;",
  ),
];

const PRICES: readonly Mutant[] = [
  {
    name: "negative-usage-is-credited",
    breaks: "BILL-02",
    patches: [
      { file: PRICE, find: "!Number.isInteger(value) || value < 0 ||", put: "!Number.isInteger(value) ||" },
      {
        file: PRICE,
        find: "if (usage.audioOutputTokens + (usage.imageOutputTokens ?? 0) > usage.outputTokens)",
        put: "if (false)",
      },
    ],
  },
  one(
    "rounded-twice",
    "BILL-01",
    PRICE,
    "    cost.numerator * NANOS_PER_UNIT * rate.numerator * margin.numerator,\n    cost.denominator * rate.denominator",
    "    divideHalfUp(cost.numerator * NANOS_PER_UNIT, cost.denominator) * rate.numerator * margin.numerator,\n    rate.denominator",
  ),
  one(
    "rounded-down",
    "BILL-01",
    PRICE,
    "const nanos = divideHalfUp(\n",
    "const nanos = ((a: bigint, b: bigint) => a / b)(\n",
  ),
  one(
    "holds-rounded-down",
    "BILL-03",
    PRICE,
    "return (numerator + denominator - 1n) / denominator;",
    "return numerator / denominator / 2n;",
  ),
];

/** Ingest, which runs more than once. */
const BOOKS: readonly Mutant[] = [
  one("wallet-moved-at-every-ingest", "BILL-02", INGEST, "if (isCharged) totals", "if (charge !== null) totals"),
  one("counted-at-every-ingest", "BILL-02", INGEST, "if (charge === null ? isNew : isCharged) totals", "totals"),
  one("batch-partly-there-is-left-out", "BILL-02", INGEST, "      return ingestAll(batch, insertIfAbsent);\n", ""),
  one("charge-outside-the-batch", "BILL-01", INGEST, 'db.exec("begin immediate");', ""),
  one("money-booked-twice", "BILL-01", POST, "if (inserted.numInsertedOrUpdatedRows === 0n) return false;", ""),
  one("interrupted-requests-are-lost", "BILL-07", REPLAY, "open.set(record.id, { record, segment });", ""),
  one(
    "segments-dropped-before-sql-has-them",
    "BILL-07",
    INGESTER,
    "      await this.#ingest(next.batch);\n      journal.markIngested(next);",
    "      journal.markIngested(next);\n      await this.#ingest(next.batch);",
  ),
  one(
    "segments-dropped-while-requests-are-open",
    "BILL-07",
    SEGMENT_INDEX,
    " ||\n      segment.openRequests > 0\n    )",
    "\n    )",
  ),
  one(
    "leftovers-dropped-unread",
    "BILL-07",
    REPLAY,
    "ingest.ingestTexts(retained.map(({ recordJson }) => recordJson));",
    "Promise.resolve([]);",
  ),
  one(
    "unsafe-writes-stay",
    "BILL-07",
    WRITER,
    "if (active !== undefined) this.#truncateTo(active, this.#syncedBytes);",
    "",
  ),
  one(
    "acknowledged-before-the-write",
    "BILL-07",
    JOURNAL,
    "return written.promise;",
    "written.promise.catch(() => undefined); return Promise.resolve();",
  ),
  one(
    "spend-of-others-restored",
    "BILL-04",
    SPEND_HISTORY,
    "keyId: directory.rotationRootOf(keyId),",
    'keyId: "key_red_a",',
  ),
];

/** Deliberate faults of the money code: each has to be detected in a few hundred worlds. */
export const MONEY_MUTANTS: readonly Mutant[] = [...HOLDS, ...ENDS, ...PRICES, ...BOOKS];
