import type { EncryptionContext } from "../tenancy/vault.ts";

/** Where alerts are sent besides mail. What is signed with stays sealed until something is sent. */
export type AlertWebhook = {
  readonly url: string;
  readonly sealed: Uint8Array;
  readonly secretChangedAtMs: number;
};

/** What a workspace wants to be told of, and where. */
export type AlertRules = {
  readonly workspaceId: string;
  /** Below this balance; null: never. */
  readonly lowBalanceNanos: bigint | null;
  /** Shares of every spend limit, from 1 to 100, lowest first; none: never. */
  readonly limitPercents: readonly number[];
  /** When a provider refuses the workspace's own key. */
  readonly credentialRefused: boolean;
  /** Null: its owners and admins, whoever they are at the time. */
  readonly mailTo: readonly string[] | null;
  readonly webhook: AlertWebhook | null;
  readonly changedAtMs: number;
};

const DEFAULT_PERCENTS: readonly number[] = [80, 100];

/** What a workspace begins with when it sets its first rule. */
export function defaultAlertRules(workspaceId: string, nowMs: number): AlertRules {
  return {
    workspaceId,
    lowBalanceNanos: null,
    limitPercents: DEFAULT_PERCENTS,
    credentialRefused: true,
    mailTo: null,
    webhook: null,
    changedAtMs: nowMs,
  };
}

/** The secrets of a webhook as they are sealed: after a rotation the one before signs too, for a while. */
export type WebhookSecrets = {
  readonly current: string;
  readonly previous: { readonly secret: string; readonly untilMs: number } | null;
};

/** It opens in no other workspace. */
export function webhookEncryptionContext(workspaceId: string): EncryptionContext {
  return { workspaceId, column: "alert_rules.webhook_secret", row: workspaceId };
}
