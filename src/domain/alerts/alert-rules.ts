import type { EncryptionContext } from "../tenancy/vault.ts";

/** A webhook receiver; its signing secret is decrypted only for a delivery. */
export type AlertWebhook = {
  readonly url: string;
  readonly sealed: Uint8Array;
  readonly secretChangedAtMs: number;
};

/** The conditions and receivers of a workspace's alerts. */
export type AlertRules = {
  readonly workspaceId: string;
  /** Alert below this balance; null: never. */
  readonly lowBalanceNanos: bigint | null;
  /** Alert at these percentages of every spend limit, ascending; empty: never. */
  readonly limitPercents: readonly number[];
  /** Alert when a provider refuses the workspace's own key. */
  readonly credentialRefused: boolean;
  /** Alert on the first request of a day that contains data of these classes. */
  readonly dataClasses: readonly string[];
  /** Null: the workspace's current owners and admins. */
  readonly mailTo: readonly string[] | null;
  readonly webhook: AlertWebhook | null;
  readonly changedAtMs: number;
};

const DEFAULT_PERCENTS: readonly number[] = [80, 100];

/** The defaults that a workspace's first change starts from. */
export function defaultAlertRules(workspaceId: string, nowMs: number): AlertRules {
  return {
    workspaceId,
    lowBalanceNanos: null,
    limitPercents: DEFAULT_PERCENTS,
    credentialRefused: true,
    dataClasses: [],
    mailTo: null,
    webhook: null,
    changedAtMs: nowMs,
  };
}

/** A webhook's signing secrets; for a while after a rotation the previous one signs too. */
export type WebhookSecrets = {
  readonly current: string;
  readonly previous: { readonly secret: string; readonly untilMs: number } | null;
};

export function webhookEncryptionContext(workspaceId: string): EncryptionContext {
  return { workspaceId, column: "alert_rules.webhook_secret", row: workspaceId };
}
