import type { AlertRules } from "./alert-rules.ts";
import type { ActiveAlert } from "./evaluate-rules.ts";

export const CHANNELS = ["mail", "webhook"] as const;
export type Channel = (typeof CHANNELS)[number];

/** `waiting` is retried; the other states are final. */
export const DELIVERY_STATES = ["waiting", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One alert to one receiver. */
export type Delivery = {
  readonly id: string;
  /** The same for all receivers and attempts, so that a receiver can recognize duplicates. */
  readonly alertId: string;
  readonly workspaceId: string;
  readonly type: string;
  readonly channel: Channel;
  /** A mail address, or the webhook's origin. */
  readonly target: string;
  /** The webhook body; mails are built from it. */
  readonly payload: string;
  readonly createdAtMs: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The next attempt, or the time of the final state. */
  readonly atMs: number;
  readonly lastError: string | null;
};

/** An alert to record, with its deliveries. */
export type FiredAlert = ActiveAlert & { readonly alertId: string; readonly deliveries: readonly Delivery[] };

export type DueBatchLimit = { readonly total: number; readonly perWorkspace: number };

export type AlertRuleStore = {
  /** `workspaceId` limits the result to one workspace. */
  all(workspaceId?: string): Promise<AlertRules[]>;
  save(rules: AlertRules): Promise<void>;
  /** Also removes the active alerts. */
  remove(workspaceId: string): Promise<void>;
};

export type AlertStore = {
  readonly rules: Pick<AlertRuleStore, "all">;
  activeAlerts(workspaceId: string): Promise<ActiveAlert[]>;
  /** Removes cleared alerts and adds fired ones; an alert that two processes fire is added once. */
  recordTransitions(
    workspaceId: string,
    over: readonly ActiveAlert[],
    fired: readonly FiredAlert[],
    nowMs: number,
  ): Promise<void>;
  /** Deliveries due now, limited per workspace so that none starves the others. */
  due(nowMs: number, limit: DueBatchLimit): Promise<Delivery[]>;
  /** Counts an attempt and leases the delivery until `untilMs`; false: another process has it. */
  claim(delivery: Delivery, untilMs: number): Promise<boolean>;
  conclude(id: string, end: Pick<Delivery, "state" | "atMs" | "lastError">): Promise<void>;
  countAlertsSince(workspaceId: string, sinceMs: number): Promise<number>;
  /** Newest first. */
  deliveries(
    workspaceId: string,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: Delivery[]; next: string | null }>;
  /** Deletes final deliveries older than `beforeMs`; returns their number. */
  sweep(beforeMs: number): Promise<number>;
};
