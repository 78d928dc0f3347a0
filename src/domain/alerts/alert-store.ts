import type { AlertRules } from "./alert-rules.ts";
import type { ActiveAlert } from "./evaluate-rules.ts";

export const CHANNELS = ["mail", "webhook"] as const;
export type Channel = (typeof CHANNELS)[number];

/** `waiting` is tried again; the others are over. */
export const DELIVERY_STATES = ["waiting", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One alert on its way to one receiver. */
export type Delivery = {
  readonly id: string;
  /** The same for every receiver and every try: who gets it twice knows it by this. */
  readonly alertId: string;
  readonly workspaceId: string;
  readonly type: string;
  readonly channel: Channel;
  /** An address of mail, or the origin of the webhook. */
  readonly target: string;
  /** The JSON text that is sent, or that the mail is made from. */
  readonly payload: string;
  readonly createdAtMs: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** When it is tried next, or was over. */
  readonly atMs: number;
  readonly lastError: string | null;
};

/** A crossing with what is to be sent because of it. */
export type FiredAlert = ActiveAlert & { readonly alertId: string; readonly deliveries: readonly Delivery[] };

export type DueBatchLimit = { readonly total: number; readonly perWorkspace: number };

export type AlertRuleStore = {
  /** Of one workspace alone where it is named. */
  all(workspaceId?: string): Promise<AlertRules[]>;
  save(rules: AlertRules): Promise<void>;
  /** With what was told under them. */
  remove(workspaceId: string): Promise<void>;
};

export type AlertStore = {
  readonly rules: Pick<AlertRuleStore, "all">;
  /** What was told and is not to be told again. */
  activeAlerts(workspaceId: string): Promise<ActiveAlert[]>;
  /** What is over may be told again, and what is new is told: once, also where two processes found it. */
  recordTransitions(
    workspaceId: string,
    over: readonly ActiveAlert[],
    fired: readonly FiredAlert[],
    nowMs: number,
  ): Promise<void>;
  /** What is to be tried now, some of each workspace: those with much to send do not go before the others. */
  due(nowMs: number, limit: DueBatchLimit): Promise<Delivery[]>;
  /** Counts a try and keeps others away from it until then; false when somebody else was faster. */
  claim(delivery: Delivery, untilMs: number): Promise<boolean>;
  conclude(id: string, end: Pick<Delivery, "state" | "atMs" | "lastError">): Promise<void>;
  /** How many alerts a workspace was told since then. */
  countAlertsSince(workspaceId: string, sinceMs: number): Promise<number>;
  /** Newest first. */
  deliveries(
    workspaceId: string,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: Delivery[]; next: string | null }>;
  /** Removes what was over before then; answers how many. */
  sweep(beforeMs: number): Promise<number>;
};
