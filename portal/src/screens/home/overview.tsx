import { useMemo } from "react";
import type { Row } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import type { Permissions } from "../../api/permissions.ts";
import { moneyText } from "../../format/money.ts";
import { numberText, percentText } from "../../format/number.ts";
import { DAY_MS, MINUTE_MS } from "../../format/time.ts";
import { Chart } from "../../ui/chart.tsx";
import { cx } from "../../ui/class-names.ts";
import { ErrorState } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, Stack, Stat } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { Skeleton, SkeletonLines } from "../../ui/skeleton.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { Money, useNow } from "../../ui/values.tsx";
import { useSearchParam } from "../../url-state.ts";
import { DEFAULT_DAYS, defaultPeriod, type Period } from "../usage/period.ts";
import { DEFAULT_ENVIRONMENT } from "../usage/usage-query.ts";
import { byDay, sumOf } from "./daily-sums.ts";
import { collectNotices } from "./notices.ts";
import { RecentRequests } from "./recent-requests.tsx";

type Props = {
  readonly workspace: string;
  readonly currency: string;
  readonly permissions: Permissions;
  readonly at: (path?: string) => string;
  readonly requests: readonly Row<"manageListRequests">[];
};

const REFETCH_MS = 20_000;

export function Overview({ workspace, currency, permissions, at, requests }: Props) {
  const params = { workspace };
  // The same period, time zone and traffic as on the usage screen: UTC days, live and test.
  const nowMs = useNow(true, MINUTE_MS);
  const period = defaultPeriod(nowMs);
  const query = {
    by: period.by,
    from: new Date(period.fromMs).toISOString(),
    to: new Date(period.toMs).toISOString(),
    env: DEFAULT_ENVIRONMENT,
    group: "environment",
  } as const;
  const days = useManage("manageShowUsage", { params, query }, { refetchMs: REFETCH_MS, keepPrevious: true });
  const wallet = useManage("manageShowWallet", { params }, { enabled: permissions.isAdmin, refetchMs: REFETCH_MS });
  if (days.error !== null && days.data === undefined)
    return <ErrorState error={days.error} onRetry={() => void days.refetch()} />;
  const all = sumOf(days.data?.data ?? []);
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const now = sumOf((days.data?.data ?? []).filter(({ start }) => Date.parse(start) === todayMs));
  return (
    <Stack>
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        {permissions.isAdmin && (
          <Stat
            label="Balance"
            value={
              wallet.data === undefined ? (
                <Skeleton className="h-6 w-24" />
              ) : (
                <Money amount={wallet.data.balance} currency={wallet.data.currency} as="balance" />
              )
            }
            note={<Link to={at("wallet")}>View wallet</Link>}
          />
        )}
        <PendingStat
          label="Spend today (UTC)"
          isPending={days.isPending}
          value={moneyText(String(now.spend), currency)}
          note={`${moneyText(String(all.spend), currency)} in ${DEFAULT_DAYS} days`}
        />
        <PendingStat
          label="Requests today (UTC)"
          isPending={days.isPending}
          value={numberText(now.requests)}
          note={`${numberText(all.requests)} in ${DEFAULT_DAYS} days${testText(all.testRequests)}`}
        />
        <PendingStat
          label="Error rate today (UTC)"
          isPending={days.isPending}
          value={now.requests === 0 ? "–" : percentText(now.errors / now.requests)}
          note={`${all.requests === 0 ? "–" : percentText(all.errors / all.requests)} in ${DEFAULT_DAYS} days`}
          tone={now.requests > 0 && now.errors / now.requests > 0.05 ? "warn" : undefined}
        />
      </div>
      <Attention {...{ workspace, permissions, at }} balance={wallet.data?.balance} spent30Days={all.spend} />
      <DailyChart rows={days.data?.data} period={period} currency={currency} at={at} />
      <RecentRequests requests={requests} at={at} />
    </Stack>
  );
}

function PendingStat({
  isPending,
  value,
  ...rest
}: {
  readonly label: string;
  readonly value: string;
  readonly note: string;
  readonly isPending: boolean;
  readonly tone?: "warn" | undefined;
}) {
  return <Stat {...rest} value={isPending ? <Skeleton className="h-6 w-20" /> : value} />;
}

/** Test traffic is part of the total. */
const testText = (requests: number) => (requests === 0 ? "" : `, ${numberText(requests)} of them test`);

function DailyChart({
  rows,
  period,
  currency,
  at,
}: {
  readonly period: Period;
  readonly rows: readonly Row<"manageShowUsage">[] | undefined;
  readonly currency: string;
  readonly at: (path?: string) => string;
}) {
  const [shown, show] = useSearchParam("chart", "requests");
  const { by, fromMs, toMs } = period;
  const days = useMemo(() => byDay(rows ?? [], { by, fromMs, toMs }), [rows, by, fromMs, toMs]);
  const isSpend = shown === "spend";
  const label = isSpend ? "Spend in the last 30 days" : "Requests in the last 30 days";
  return (
    <Card
      title={label}
      actions={
        <>
          <SegmentedControl
            label="Metric"
            value={isSpend ? "spend" : "requests"}
            onChange={show}
            options={[
              { value: "requests", label: "Requests" },
              { value: "spend", label: "Spend" },
            ]}
          />
          <Link to={at("usage")}>View usage</Link>
        </>
      }
    >
      {rows === undefined ? (
        <SkeletonLines count={4} />
      ) : (
        <Chart
          label={label}
          kind="bars"
          height={150}
          x={days.map(({ dayMs }) => dayMs + DAY_MS / 2)}
          series={[
            {
              id: "day",
              label: isSpend ? "Spend" : "Requests",
              values: days.map(({ sums }) => (isSpend ? sums.spend : sums.requests)),
            },
          ]}
          format={isSpend ? (value) => moneyText(String(value), currency, "price") : numberText}
        />
      )}
    </Card>
  );
}

function Attention({
  workspace,
  permissions,
  at,
  balance,
  spent30Days,
}: Pick<Props, "workspace" | "permissions" | "at"> & {
  readonly balance: string | undefined;
  readonly spent30Days: number;
}) {
  const nowMs = useNow();
  const me = useMe().data;
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 1000 } }).data?.data ?? [];
  const limits = useManage(
    "manageListLimits",
    { params: { workspace }, query: { limit: 1000 } },
    { enabled: permissions.isAdmin },
  ).data?.data;
  const notices = collectNotices({
    keys,
    balance,
    spent30Days,
    limits: limits ?? [],
    hasNoSecondFactor: me !== null && me !== undefined && !me.two_factor && me.passkeys === 0,
    isAdmin: permissions.isAdmin,
    nowMs,
    at,
  });
  if (notices.length === 0) return null;
  return (
    <Card title="Needs attention" flush>
      <ul>
        {notices.map(({ id, icon, tone, text, action, to }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-5 py-2.5 last:border-0">
            <Icon name={icon} className={cx(tone === "bad" ? "text-bad" : "text-warn")} />
            <span className="min-w-0 flex-1 basis-52 break-words">{text}</span>
            <Link to={to}>{action}</Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}
