import type { Row } from "../../api/client.ts";
import { percentText } from "../../format/number.ts";
import { relativeText } from "../../format/time.ts";
import type { IconName } from "../../ui/icon.tsx";
import { expiresSoon, expiryOf, type Key } from "../keys/key.ts";
import { daysLeft } from "./daily-sums.ts";

type Notice = {
  readonly id: string;
  readonly icon: IconName;
  readonly tone: "warn" | "bad";
  readonly text: string;
  readonly action: string;
  readonly to: string;
};

type NoticeInputs = {
  readonly keys: readonly Key[];
  readonly balance: string | undefined;
  readonly spent30Days: number;
  readonly limits: readonly Row<"manageListLimits">[];
  /** The signed-in person has neither two-factor authentication nor a passkey. */
  readonly hasNoSecondFactor: boolean;
  readonly isAdmin: boolean;
  readonly nowMs: number;
  readonly at: (path?: string) => string;
};

const LOW_DAYS = 7;
const NEAR = 0.9;

/** Notices for the home screen, most urgent first. */
export function collectNotices(facts: NoticeInputs): Notice[] {
  return [...balanceNotices(facts), ...limitNotices(facts), ...keyNotices(facts), ...accountNotices(facts)];
}

function balanceNotices({ balance, spent30Days, at }: NoticeInputs): Notice[] {
  if (balance === undefined) return [];
  const common = { id: "balance", icon: "wallet", action: "View wallet", to: at("wallet") } as const;
  if (Number(balance) <= 0)
    return [{ ...common, tone: "bad", text: "The wallet is empty. Paid requests are rejected." }];
  const left = daysLeft(Number(balance), spent30Days);
  if (left === undefined || left >= LOW_DAYS) return [];
  const days = Math.floor(left);
  const lasts = days === 0 ? "less than a day" : days === 1 ? "about a day" : `about ${days} days`;
  return [{ ...common, tone: "warn", text: `At the current rate, the balance lasts ${lasts}.` }];
}

function limitNotices({ limits, at }: NoticeInputs): Notice[] {
  return limits.flatMap((limit) =>
    (["day", "month"] as const).flatMap((period): Notice[] => {
      const { limit: most, spent } = limit[period];
      if (most === null || Number(most) <= 0) return [];
      const share = Number(spent) / Number(most);
      if (share < NEAR) return [];
      const subject = limit.of === "workspace" ? "the workspace" : (limit.key_name ?? limit.key ?? limit.member ?? "");
      const text = `${percentText(Math.floor(share * 100) / 100)} of the ${period === "day" ? "daily" : "monthly"} spend limit for ${subject} is used.`;
      const tone = share >= 1 ? "bad" : "warn";
      const id = `limit ${limit.of} ${limit.key ?? limit.member ?? ""} ${period}`;
      return [{ id, icon: "gauge", tone, text, action: "View limits", to: at("limits") }];
    }),
  );
}

function keyNotices({ keys, nowMs, at }: NoticeInputs): Notice[] {
  const pending = keys.filter(({ state }) => state === "pending");
  const expiring = keys.filter((key) => expiresSoon(key, nowMs));
  return [
    ...(pending.length === 0
      ? []
      : [
          {
            id: "approvals",
            icon: "clock",
            tone: "warn",
            text: `${pending.length === 1 ? "1 personal key is" : `${pending.length} personal keys are`} waiting for approval.`,
            action: "Review",
            to: at("keys"),
          } as const,
        ]),
    ...expiring.map((key): Notice => {
      const when = relativeText(Date.parse(expiryOf(key) ?? ""), nowMs);
      const text =
        key.state === "deprecated" ? `The rotated key ${key.name} expires ${when}.` : `${key.name} expires ${when}.`;
      return { id: key.id, icon: "key", tone: "warn", text, action: "View key", to: at(`keys?key=${key.id}`) };
    }),
  ];
}

function accountNotices({ hasNoSecondFactor, isAdmin }: NoticeInputs): Notice[] {
  if (!hasNoSecondFactor || !isAdmin) return [];
  return [
    {
      id: "second-factor",
      icon: "lock",
      tone: "warn",
      text: "Your account has no passkey and no two-factor authentication.",
      action: "Secure account",
      to: "/app/account",
    },
  ];
}
