import type { ReactNode } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Num, Time } from "../../ui/values.tsx";

type Check = ApiResponse<"manageDoctor">["checks"][number];

/** The screen with details of a check. */
const CHECK_SCREENS: Readonly<Record<string, string>> = {
  endpoints: "/app/operator/health?show=trouble",
  providers: "/app/operator/providers",
  settings: "/app/operator/configuration",
  "log export": "/app/operator/integrations",
  "exchange rates": "/app/operator/rates",
  proofs: "/app/operator/probes",
  "master key": "/app/operator/master-key",
};

const REFETCH_MS = 10_000;

export function Screen() {
  const doctor = useManage("manageDoctor", {});
  return (
    <>
      <PageHeader
        title="Operator overview"
        about="Status of this gateway and its checks."
        actions={
          <>
            <ApiButton calls={[{ id: "manageDoctor", args: {}, description: "Run health checks" }]} />
            <LinkButton to="/app/operator/workspaces?new=1" icon="plus" variant="primary">
              Create workspace
            </LinkButton>
          </>
        }
      />
      <Stack>
        <OverviewStats doctor={doctor.data} />
        <Card
          title="Health checks"
          about="Invariants, store, journal and settings."
          actions={
            <Button size="small" icon="refresh" busy={doctor.isFetching} onClick={() => void doctor.refetch()}>
              Run checks
            </Button>
          }
          flush
        >
          {doctor.error !== null ? (
            <ErrorState error={doctor.error} onRetry={() => void doctor.refetch()} />
          ) : doctor.data === undefined ? (
            <div className="p-5">
              <SkeletonLines count={6} />
            </div>
          ) : (
            <ul aria-label="Checks">
              {doctor.data.checks.map((check) => (
                <CheckRow key={check.name} check={check} />
              ))}
            </ul>
          )}
        </Card>
      </Stack>
    </>
  );
}

const CHECK_BADGES = {
  ok: { tone: "good", label: "OK" },
  warning: { tone: "warn", label: "Warning" },
  failed: { tone: "bad", label: "Failed" },
} as const;

function CheckRow({ check: { name, status, detail } }: { readonly check: Check }) {
  const screen = CHECK_SCREENS[name];
  const { tone, label } = CHECK_BADGES[status];
  return (
    <li className="grid gap-x-4 gap-y-1 border-b px-5 py-3 last:border-0 sm:grid-cols-[11rem_minmax(0,1fr)_auto]">
      <p className="flex items-center gap-2 font-medium">
        <Badge tone={tone} dot>
          {label}
        </Badge>
        <span className="min-w-0 first-letter:uppercase">{name}</span>
      </p>
      <p className="min-w-0 break-words text-soft first-letter:uppercase">{withCode(detail)}</p>
      {screen !== undefined && (
        <Link to={screen} aria-label={`Review ${name}`} className="w-fit">
          Review
        </Link>
      )}
    </li>
  );
}

/** Commands in a detail are between backticks. */
function withCode(detail: string): ReactNode {
  return detail.split("`").map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move
      <code key={at} className="font-mono text-xs text-ink">
        {part}
      </code>
    ),
  );
}

/** The headline: failures first, then warnings; green only without either. */
function healthOf({ checks, warnings }: ApiResponse<"manageDoctor">) {
  const failed = checks.filter(({ ok }) => !ok).length;
  const warned = counted(warnings, "warning");
  if (failed > 0)
    return { value: "Unhealthy", tone: "bad", note: `${counted(failed, "failed check")}, ${warned}` } as const;
  if (warnings > 0) return { value: warned, tone: "warn", note: "No failed checks" } as const;
  return { value: "Healthy", tone: "good", note: "All checks passed" } as const;
}

function OverviewStats({ doctor }: { readonly doctor: ApiResponse<"manageDoctor"> | undefined }) {
  const endpoints =
    useManage("manageListEndpoints", { query: { used: "true" } }, { refetchMs: REFETCH_MS }).data?.data ?? [];
  const settings = useManage("manageListSettings", {}).data;
  const openCircuits = endpoints.filter(({ state }) => state === "aside").length;
  const health = doctor === undefined ? undefined : healthOf(doctor);
  return (
    <StatRow>
      <Stat label="Health" value={health?.value ?? "…"} tone={health?.tone} note={health?.note} />
      <Stat
        label="In flight"
        value={<Num value={endpoints.reduce((sum, { in_flight }) => sum + in_flight, 0)} />}
        note="Requests at providers"
      />
      <Stat
        label="Open circuits"
        value={<Num value={openCircuits} />}
        tone={openCircuits > 0 ? "bad" : undefined}
        note={`${endpoints.length} endpoints used since start`}
      />
      <Stat
        label="Version"
        value={settings?.version ?? "…"}
        note={
          settings === undefined ? undefined : (
            <>
              Started <Time at={settings.started_at} />
            </>
          )
        }
      />
    </StatRow>
  );
}
