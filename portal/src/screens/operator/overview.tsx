import type { ApiResponse } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader, Stack, Stat, StatRow } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Num, Time } from "../../ui/values.tsx";

type Check = ApiResponse<"manageDoctor">["checks"][number];

/** Where a check can be looked into. */
const PLACES: Readonly<Record<string, string>> = {
  endpoints: "/app/operator/health?show=trouble",
  providers: "/app/operator/providers",
  settings: "/app/operator/configuration",
  "exchange rates": "/app/operator/rates",
  proofs: "/app/operator/probes",
  "master key": "/app/operator/master-key",
};

const EVERY_MS = 10_000;

/** The operator's first look: is it well, and what has it to do. */
export function Screen() {
  const doctor = useManage("manageDoctor", {});
  return (
    <>
      <PageHeader
        title="Operator overview"
        about="Whether this gateway is well, and where to look when it is not."
        actions={
          <>
            <CallButton calls={[{ id: "manageDoctor", args: {}, says: "Check the gateway's invariants" }]} />
            <LinkButton to="/app/operator/workspaces?new=1" icon="plus" look="primary">
              Create a workspace
            </LinkButton>
          </>
        }
      />
      <Stack>
        <Figures doctor={doctor.data} />
        <Card
          title="Doctor"
          about="Checks of invariants, store, journal and settings. Advice is not a fault."
          actions={
            <Button size="small" icon="refresh" busy={doctor.isFetching} onClick={() => void doctor.refetch()}>
              Check again
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
                <Line key={check.name} check={check} />
              ))}
            </ul>
          )}
        </Card>
      </Stack>
    </>
  );
}

function Line({ check: { name, ok, detail } }: { readonly check: Check }) {
  const place = PLACES[name];
  return (
    <li className="grid gap-x-4 gap-y-1 border-b px-5 py-3 last:border-0 sm:grid-cols-[11rem_minmax(0,1fr)_auto]">
      <p className="flex items-center gap-2 font-medium">
        <Badge tone={ok ? "good" : "bad"} dot>
          {ok ? "ok" : "broken"}
        </Badge>
        <span className="min-w-0">{name}</span>
      </p>
      <p className="min-w-0 break-words text-soft">{detail}</p>
      {place !== undefined && (
        <Link to={place} aria-label={`Look into ${name}`} className="w-fit">
          Look
        </Link>
      )}
    </li>
  );
}

function Figures({ doctor }: { readonly doctor: ApiResponse<"manageDoctor"> | undefined }) {
  const endpoints =
    useManage("manageListEndpoints", { query: { used: "true" } }, { refetchMs: EVERY_MS }).data?.data ?? [];
  const settings = useManage("manageListSettings", {}).data;
  const aside = endpoints.filter(({ state }) => state === "aside").length;
  const broken = doctor?.checks.filter(({ ok }) => !ok).length ?? 0;
  return (
    <StatRow>
      <Stat
        label="Health"
        value={doctor === undefined ? "…" : doctor.ok ? "Well" : "Broken"}
        tone={doctor === undefined ? undefined : doctor.ok ? "good" : "bad"}
        note={broken === 0 ? "every invariant holds" : `${broken} checks fail`}
      />
      <Stat
        label="In flight"
        value={<Num value={endpoints.reduce((sum, { in_flight }) => sum + in_flight, 0)} />}
        note="requests at providers now"
      />
      <Stat
        label="Endpoints set aside"
        value={<Num value={aside} />}
        tone={aside > 0 ? "bad" : undefined}
        note={`${endpoints.length} were used since the start`}
      />
      <Stat
        label="Version"
        value={settings?.version ?? "…"}
        note={
          settings === undefined ? undefined : (
            <>
              started <Time at={settings.started_at} />
            </>
          )
        }
      />
    </StatRow>
  );
}
