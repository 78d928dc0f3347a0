import { LevelBadge } from "../../ui/badge.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Num, Time } from "../../ui/values.tsx";
import { useLevels } from "./catalogue.ts";
import { StatusBadge } from "./evidence-list.tsx";
import { PublicApiButton } from "./parts.tsx";

const STATUSES = ["verified", "claimed", "doubtful"] as const;

/** Most meanings repeat the name of their level. */
const addsTo = (name: string, meaning: string) => !meaning.startsWith(name);

export function Screen() {
  const levels = useLevels();
  const rows = (levels.data?.data ?? []).toSorted((a, b) => (b.rank ?? -1) - (a.rank ?? -1));
  return (
    <>
      <PageHeader
        title="Sovereignty levels"
        about="Each endpoint has a level based on where it runs, who operates it and who owns the operator. A floor in your policy excludes lower levels on every attempt."
        actions={<PublicApiButton paths={[{ path: "/v1/public/sovereignty", description: "List levels" }]} />}
      />
      {levels.error !== null && <ErrorState error={levels.error} onRetry={() => void levels.refetch()} />}
      {levels.isPending && <SkeletonLines count={8} />}
      {rows.length > 0 && (
        <Card flush>
          <ol>
            {rows.map(({ level, name, meaning, needs, rank, endpoint_count, evidence }) => (
              <li
                key={level}
                className="grid gap-x-6 gap-y-2 border-b px-5 py-5 last:border-0 md:grid-cols-[12rem_minmax(0,1fr)_9rem]"
              >
                <div className="grid content-start justify-items-start gap-1.5">
                  <LevelBadge level={level} />
                  <h2 className="text-base">{name}</h2>
                </div>
                <div className="grid content-start gap-2">
                  {addsTo(name, meaning) && <p className="max-w-prose text-pretty">{meaning}</p>}
                  <p className="max-w-prose text-soft text-pretty">
                    {rank !== null && <span className="label-mark mr-2">Requires</span>}
                    {needs}
                  </p>
                  {evidence.read !== null && (
                    <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
                      <span className="label-mark">Evidence</span>
                      {STATUSES.map(
                        (status) =>
                          evidence[status] > 0 && (
                            <span key={status} className="inline-flex items-center gap-1">
                              <Num value={evidence[status]} /> <StatusBadge status={status} />
                            </span>
                          ),
                      )}
                      <span>
                        Read <Time at={evidence.read} as="day" />
                      </span>
                    </p>
                  )}
                </div>
                <p className="text-soft md:text-right">
                  <Num value={endpoint_count} /> {endpoint_count === 1 ? "endpoint" : "endpoints"}
                  {rank !== null && (
                    <span className="block">
                      <Link to={`/app/models?level=${level}`}>View models</Link>
                    </span>
                  )}
                </p>
              </li>
            ))}
          </ol>
        </Card>
      )}
    </>
  );
}
