import { z } from "zod";
import { dayStartMs, parseDayName, spanOf } from "../../kit/calendar.ts";
import { formatNanos } from "../../kit/money.ts";
import type { Workspace } from "../tenancy/workspace.ts";
import type { AlertCondition, LimitUsage } from "./evaluate-rules.ts";

/** Display names of a spend limit's subject. */
export type SpenderNames = {
  readonly member: string | null;
  readonly key: string | null;
  readonly keyName: string | null;
};

export const NO_SPENDER_NAMES: SpenderNames = { member: null, key: null, keyName: null };

/** The webhook payload: `title`, `message` and `advice` for people, `data` for programs. */
const alertEventSchema = z.object({
  id: z.string(),
  type: z.string(),
  created_at: z.string(),
  workspace: z.object({ id: z.string(), slug: z.string(), name: z.string() }),
  title: z.string(),
  message: z.string(),
  advice: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type AlertEvent = z.infer<typeof alertEventSchema>;

export function parseAlertEvent(text: string): AlertEvent {
  return alertEventSchema.parse(JSON.parse(text));
}

const TYPES = {
  balance_low: "balance.low",
  limit_reached: "limit.reached",
  credential_refused: "credential.refused",
  data_class_found: "data_class.found",
  test: "test",
} as const;

type AlertText = Pick<AlertEvent, "title" | "message" | "advice" | "data">;

export type AlertHeader = { readonly id: string; readonly atMs: number; readonly workspace: Workspace };

export function buildAlertEvent(
  { id, atMs, workspace }: AlertHeader,
  condition: AlertCondition,
  names: SpenderNames,
): AlertEvent {
  const { slug, name } = workspace;
  return {
    id,
    type: TYPES[condition.is],
    created_at: new Date(atMs).toISOString(),
    workspace: { id: workspace.id, slug, name },
    ...describeCondition(condition, workspace, names),
  };
}

function describeCondition(condition: AlertCondition, workspace: Workspace, names: SpenderNames): AlertText {
  switch (condition.is) {
    case "balance_low":
      return lowBalanceText(condition, workspace);
    case "limit_reached":
      return limitReachedText(condition, workspace, names);
    case "credential_refused":
      return keyRefusedText(condition, workspace);
    case "data_class_found":
      return dataClassText(condition, workspace);
    case "test":
      return {
        title: `Test alert for workspace ${workspace.slug}`,
        message: "This is a test. Alerts of this workspace are delivered here.",
        advice: "No action is required.",
        data: {},
      };
  }
}

type ConditionOf<Kind extends AlertCondition["is"]> = Extract<AlertCondition, { is: Kind }>;

const NANOS_PER_CENT = 10_000_000n;

/** Rounded down to whole cents, for texts; `data` has exact amounts. */
function inCents(nanos: bigint): string {
  const rest = ((nanos % NANOS_PER_CENT) + NANOS_PER_CENT) % NANOS_PER_CENT;
  return formatNanos(nanos - rest);
}

function lowBalanceText(
  { balanceNanos, thresholdNanos }: ConditionOf<"balance_low">,
  { slug, currency }: Workspace,
): AlertText {
  const [balance, threshold] = [formatNanos(balanceNanos), formatNanos(thresholdNanos)];
  const rounded = inCents(balanceNanos);
  const isSpent = balanceNanos <= 0n;
  return {
    title: `Low balance: workspace ${slug} has ${rounded} ${currency}`,
    message: `The balance of workspace ${slug} is ${rounded} ${currency}, below your threshold of ${threshold} ${currency}.`,
    advice: isSpent
      ? "Requests are refused with 402 until funds are added to the wallet."
      : "Add funds before the wallet is empty: requests that it cannot cover are refused with 402.",
    data: { balance, threshold, currency },
  };
}

const PERIOD = { day: "daily", month: "monthly" } as const;

function limitReachedText(
  { percent, limit }: ConditionOf<"limit_reached">,
  workspace: Workspace,
  names: SpenderNames,
): AlertText {
  const { slug, currency } = workspace;
  const [most, spent] = [formatNanos(limit.limitNanos), formatNanos(limit.spentNanos)];
  const resets = new Date(resetsAtMs(limit)).toISOString();
  const whose = `${PERIOD[limit.per]} spend limit of ${spenderName(limit, workspace, names)}`;
  const refused = limit.refused ? " A request was refused because of it." : "";
  return {
    title: `${percent} % of the ${whose} reached`,
    message: `${spent} ${currency} of the ${whose} of ${most} ${currency} is spent.${refused}`,
    advice:
      percent === 100
        ? `Further requests are refused with 402 until ${resets}. Raise the limit to continue.`
        : `At ${most} ${currency}, requests are refused with 402 until ${resets}. Raise the limit if needed.`,
    data: {
      of: limit.of,
      workspace: slug,
      member: names.member,
      key: names.key,
      key_name: names.keyName,
      per: limit.per,
      percent,
      limit: most,
      spent,
      currency,
      refused: limit.refused,
      resets_at: resets,
    },
  };
}

function spenderName({ of }: LimitUsage, { slug }: Workspace, { member, key, keyName }: SpenderNames): string {
  if (of === "workspace") return `workspace ${slug}`;
  return of === "member" ? `member ${member ?? "(removed)"}` : `key "${keyName ?? ""}" (${key ?? "removed"})`;
}

function resetsAtMs({ per, period }: LimitUsage): number {
  return dayStartMs(spanOf(per, dayStartMs(parseDayName(period))).endDay);
}

function keyRefusedText({ provider, status }: ConditionOf<"credential_refused">, { slug }: Workspace): AlertText {
  return {
    title: `${provider} rejects the provider key of workspace ${slug}`,
    message: `${provider} responded with ${status} to a request with workspace ${slug}'s own provider key.`,
    advice: `Check the key at ${provider}, or connect another one. Until then, requests use other endpoints and are charged, or fail if only this key is allowed.`,
    data: { provider, status },
  };
}

function dataClassText({ name, requests, day }: ConditionOf<"data_class_found">, { slug }: Workspace): AlertText {
  const count = requests === 1 ? "A request" : `${requests} requests`;
  return {
    title: `Data of the class ${name} in requests of workspace ${slug}`,
    message: `${count} of workspace ${slug} contained data of the class ${name}. It is the first alert for this class on ${day} (UTC).`,
    advice: `The log lists these requests without their content: gateway log list ${slug} --data-class ${name}. Rules of data classes decide where such requests run.`,
    data: { data_class: name, requests, day },
  };
}

/** Removed from names, so that they cannot add a mail header or a line. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

export type MailContent = { readonly subject: string; readonly text: string };

const SUBJECT_CHARS_MAX = 150;

export function mailContentOf({ id, title, message, advice, workspace }: AlertEvent): MailContent {
  const line = (text: string) => text.replace(CONTROL_CHARACTERS, " ").trim();
  const about = `Workspace: ${line(workspace.name)} (${workspace.slug})\nAlert: ${id}`;
  return {
    subject: line(title).slice(0, SUBJECT_CHARS_MAX),
    text: `${[line(message), line(advice), about].join("\n\n")}\n`,
  };
}
