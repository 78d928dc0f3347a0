import { LevelBadge } from "../../ui/badge.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { Num } from "../../ui/values.tsx";
import { useLevels } from "./catalogue.ts";
import { OpenCalls } from "./parts.tsx";

/** What the levels mean and what has to be shown for each, the highest first. */
export function Screen() {
  const levels = useLevels();
  const rows = (levels.data?.data ?? []).toSorted((a, b) => (b.rank ?? -1) - (a.rank ?? -1));
  return (
    <>
      <PageHeader
        title="Sovereignty levels"
        about="Every endpoint has a level by where it computes, who runs it and who owns that. A floor in the policy keeps out all below it, on every attempt."
        actions={<OpenCalls paths={[{ path: "/v1/public/sovereignty", says: "The levels" }]} />}
      />
      {levels.error !== null && <ErrorState error={levels.error} onRetry={() => void levels.refetch()} />}
      {levels.isPending && <SkeletonLines count={8} />}
      {rows.length > 0 && (
        <Card flush>
          <ol>
            {rows.map(({ level, name, meaning, needs, rank, endpoint_count }) => (
              <li
                key={level}
                className="grid gap-x-6 gap-y-2 border-b px-5 py-5 last:border-0 md:grid-cols-[12rem_minmax(0,1fr)_9rem]"
              >
                <div className="grid content-start justify-items-start gap-1.5">
                  <LevelBadge level={level} />
                  <h2 className="text-base">{name}</h2>
                </div>
                <div className="grid content-start gap-2">
                  <p className="max-w-prose text-pretty">{meaning}</p>
                  <p className="max-w-prose text-soft text-pretty">
                    <span className="label-mark mr-2">Needs</span>
                    {needs}
                  </p>
                </div>
                <p className="text-soft md:text-right">
                  <Num value={endpoint_count} /> {endpoint_count === 1 ? "endpoint" : "endpoints"}
                  {rank !== null && (
                    <span className="block">
                      <Link to={`/app/models?level=${level}`}>See models</Link>
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
