import type { Row } from "../../api/client.ts";
import { relativeText } from "../../format/time.ts";
import type { IconName } from "../../ui/icon.tsx";
import { type Key, stopsAt, stopsSoon } from "../keys/key.ts";
import { daysLeft } from "./figures.ts";

type Remark = {
  readonly id: string;
  readonly icon: IconName;
  readonly tone: "warn" | "bad";
  readonly text: string;
  readonly action: string;
  readonly to: string;
};

type Facts = {
  readonly keys: readonly Key[];
  readonly balance: string | undefined;
  readonly spent30Days: number;
  readonly limits: readonly Row<"manageListLimits">[];
  /** Whoever looks has neither a second factor nor a passkey. */
  readonly hasNoSecondFactor: boolean;
  readonly isAdmin: boolean;
  readonly nowMs: number;
  readonly at: (path?: string) => string;
};

const LOW_DAYS = 7;
const NEAR = 0.9;

/** What somebody should look at, the most pressing first. */
export function remarksOf(facts: Facts): Remark[] {
  return [...balanceRemarks(facts), ...limitRemarks(facts), ...keyRemarks(facts), ...accountRemarks(facts)];
}

function balanceRemarks({ balance, spent30Days, at }: Facts): Remark[] {
  if (balance === undefined) return [];
  const common = { id: "balance", icon: "wallet", action: "Open the wallet", to: at("wallet") } as const;
  if (Number(balance) <= 0)
    return [{ ...common, tone: "bad", text: "The wallet is empty: requests that cost money are refused." }];
  const left = daysLeft(Number(balance), spent30Days);
  if (left === undefined || left >= LOW_DAYS) return [];
  const days = Math.floor(left);
  const lasts = days === 0 ? "less than a day" : days === 1 ? "about a day" : `about ${days} days`;
  return [{ ...common, tone: "warn", text: `At the pace of the last 30 days the balance lasts ${lasts}.` }];
}

function limitRemarks({ limits, at }: Facts): Remark[] {
  return limits.flatMap((limit) =>
    (["day", "month"] as const).flatMap((period): Remark[] => {
      const { limit: most, spent } = limit[period];
      if (most === null || Number(most) <= 0) return [];
      const share = Number(spent) / Number(most);
      if (share < NEAR) return [];
      const whose = limit.of === "workspace" ? "the workspace" : (limit.key_name ?? limit.key ?? limit.member ?? "");
      const text = `${Math.floor(share * 100)} % of the ${period}'s spend limit of ${whose} is used.`;
      const tone = share >= 1 ? "bad" : "warn";
      const id = `limit ${limit.of} ${limit.key ?? limit.member ?? ""} ${period}`;
      return [{ id, icon: "gauge", tone, text, action: "Open limits", to: at("limits") }];
    }),
  );
}

function keyRemarks({ keys, isAdmin, nowMs, at }: Facts): Remark[] {
  const waiting = keys.filter(({ state }) => state === "pending");
  const ending = keys.filter((key) => stopsSoon(key, nowMs));
  return [
    ...(waiting.length === 0
      ? []
      : [
          {
            id: "approvals",
            icon: "clock",
            tone: "warn",
            text: `${waiting.length === 1 ? "A personal key waits" : `${waiting.length} personal keys wait`} for approval.`,
            action: isAdmin ? "Decide" : "Look",
            to: at("keys"),
          } as const,
        ]),
    ...ending.map((key): Remark => {
      const when = relativeText(Date.parse(stopsAt(key) ?? ""), nowMs);
      const text =
        key.state === "deprecated" ? `The old key of ${key.name} stops ${when}.` : `${key.name} ends ${when}.`;
      return { id: key.id, icon: "key", tone: "warn", text, action: "Open the key", to: at(`keys?key=${key.id}`) };
    }),
  ];
}

function accountRemarks({ hasNoSecondFactor, isAdmin }: Facts): Remark[] {
  if (!hasNoSecondFactor || !isAdmin) return [];
  return [
    {
      id: "second-factor",
      icon: "lock",
      tone: "warn",
      text: "Your account has neither a passkey nor a second factor.",
      action: "Protect it",
      to: "/app/account",
    },
  ];
}
