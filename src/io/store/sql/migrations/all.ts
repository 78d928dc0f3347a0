import type { Ddl } from "../engine.ts";
import { foundation } from "./0001-foundation.ts";
import { responses } from "./0002-responses.ts";
import { routing } from "./0003-routing.ts";
import { spendLimits } from "./0004-spend-limits.ts";
import { log } from "./0006-log.ts";
import { capture } from "./0007-capture.ts";
import { ownKeys } from "./0008-own-keys.ts";
import { idempotency } from "./0009-idempotency.ts";
import { payments } from "./0010-payments.ts";
import { alerts } from "./0011-alerts.ts";
import { rates } from "./0012-rates.ts";
import { masterKeys } from "./0013-master-keys.ts";
import { proofs } from "./0014-proofs.ts";
import { people } from "./0015-people.ts";
import { managementTokens } from "./0016-management-tokens.ts";
import { usageTimes } from "./0018-usage-times.ts";
import { logSurfaces } from "./0020-log-surfaces.ts";
import { nodes } from "./0021-nodes.ts";
import { changes } from "./0022-changes.ts";
import { aheadOfLogByTime, logByTime } from "./0023-log-by-time.ts";
import { roles } from "./0024-roles.ts";
import { logOutbox } from "./0026-log-outbox.ts";
import { platformKeys } from "./0027-platform-keys.ts";
import { auditByActor } from "./0028-audit-by-actor.ts";
import { indexBesideCharges, ledgerBesideCharges } from "./0029-ledger-beside-charges.ts";
import { responseWork } from "./0030-response-work.ts";
import { chargesInRollups } from "./0031-charges-in-rollups.ts";
import { responseEnd } from "./0032-response-end.ts";
import { offeredSeats } from "./0033-offered-seats.ts";
import { startedOver } from "./0034-started-over.ts";
import { epochsOfPeople } from "./0035-epochs-of-people.ts";
import { oneSecondFactor } from "./0036-one-second-factor.ts";
import { shortRecords } from "./0037-short-records.ts";
import { sketches } from "./0038-sketches.ts";
import { endpointActivity } from "./0039-endpoint-activity.ts";
import { playgroundKeys } from "./0040-playground-keys.ts";
import { invitationLimits } from "./0041-invitation-limits.ts";
import { nodeLevels } from "./0042-node-levels.ts";
import { indexByKind, ledgerByKind } from "./0043-ledger-by-kind.ts";
import { evidenceShapes } from "./0044-evidence-shapes.ts";
import { candidateColumns } from "./0045-candidate-columns.ts";
import { auditedDays } from "./0046-audited-days.ts";
import { customClasses } from "./0047-custom-classes.ts";
import { dataClassShapes } from "./0048-data-class-shapes.ts";
import { cachedReplies } from "./0049-cached-replies.ts";
import { batches } from "./0050-batches.ts";
import { alertClasses } from "./0051-alert-classes.ts";

/** Immutable once released: every store keeps the checksum of its statements. */
export type Migration = {
  readonly number: number;
  readonly name: string;
  /** Run in one transaction. Instances of the previous version keep working afterwards. */
  statements(ddl: Ddl): string[];
  /** Long-running steps with short locks, each in its own transaction before `statements`. Repeatable after an interruption. */
  preparation?(ddl: Ddl): string[];
  /** Indexes that are built without blocking readers and writers, each outside a transaction. */
  concurrentIndexes?(ddl: Ddl): string[];
};

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: "foundation", statements: foundation },
  { number: 2, name: "responses", statements: responses },
  { number: 3, name: "routing", statements: routing },
  { number: 4, name: "spend limits", statements: spendLimits },
  { number: 6, name: "log", statements: log },
  { number: 7, name: "capture", statements: capture },
  { number: 8, name: "own keys", statements: ownKeys },
  { number: 9, name: "idempotency", statements: idempotency },
  { number: 10, name: "payments", statements: payments },
  { number: 11, name: "alerts", statements: alerts },
  { number: 12, name: "rates", statements: rates },
  { number: 13, name: "master keys", statements: masterKeys },
  { number: 14, name: "proofs", statements: proofs },
  { number: 15, name: "people", statements: people },
  { number: 16, name: "management tokens", statements: managementTokens },
  { number: 18, name: "usage times", statements: usageTimes },
  { number: 20, name: "log surfaces", statements: logSurfaces },
  { number: 21, name: "nodes", statements: nodes },
  { number: 22, name: "changes", statements: changes },
  { number: 23, name: "log by time", statements: logByTime, preparation: aheadOfLogByTime },
  { number: 24, name: "roles", statements: roles },
  { number: 26, name: "log outbox", statements: logOutbox },
  { number: 27, name: "platform keys", statements: platformKeys },
  { number: 28, name: "audit by actor", statements: auditByActor },
  { number: 29, name: "ledger beside charges", statements: ledgerBesideCharges, concurrentIndexes: indexBesideCharges },
  { number: 30, name: "response work", statements: responseWork },
  { number: 31, name: "charges in roll-ups", statements: chargesInRollups },
  { number: 32, name: "response end", statements: responseEnd },
  { number: 33, name: "offered seats", statements: offeredSeats },
  { number: 34, name: "started over", statements: startedOver },
  { number: 35, name: "epochs of people", statements: epochsOfPeople },
  { number: 36, name: "one second factor", statements: oneSecondFactor },
  { number: 37, name: "short records", statements: shortRecords },
  { number: 38, name: "sketches", statements: sketches },
  { number: 39, name: "endpoint activity", statements: endpointActivity },
  { number: 40, name: "playground keys", statements: playgroundKeys },
  { number: 41, name: "invitation limits", statements: invitationLimits },
  { number: 42, name: "node levels", statements: nodeLevels },
  { number: 43, name: "ledger by kind", statements: ledgerByKind, concurrentIndexes: indexByKind },
  { number: 44, name: "evidence shapes", statements: evidenceShapes },
  { number: 45, name: "candidate columns", statements: candidateColumns },
  { number: 46, name: "audited days", statements: auditedDays },
  { number: 47, name: "custom classes", statements: customClasses },
  { number: 48, name: "data class shapes", statements: dataClassShapes },
  { number: 49, name: "cached replies", statements: cachedReplies },
  { number: 50, name: "batches", statements: batches },
  { number: 51, name: "alert classes", statements: alertClasses },
];
