import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { apiErrorOf } from "../../api/error.ts";
import { endOtherSessions, endSession, listSessions, type Session } from "../../api/people.ts";
import { useReauthentication } from "../../api/reauthentication.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card } from "../../ui/layout.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";

export function Sessions() {
  const client = useQueryClient();
  const runReauthenticated = useReauthentication();
  const sessions = useQuery({ queryKey: ["sessions"], queryFn: listSessions });
  const end = useMutation({
    mutationFn: (id: string | null) => runReauthenticated(() => (id === null ? endOtherSessions() : endSession(id))),
    onSuccess: () => {
      toast("Session signed out");
      return client.invalidateQueries({ queryKey: ["sessions"] });
    },
    onError: (error) => toast(apiErrorOf(error).message, "bad"),
  });
  const rows = sessions.data?.data ?? [];
  const others = (
    <Button onClick={() => end.mutate(null)} busy={end.isPending && end.variables === null}>
      Sign out all other sessions
    </Button>
  );
  return (
    <Card
      title="Sessions"
      about="Browsers and devices signed in to your account."
      actions={rows.length > 1 && others}
      flush
    >
      {sessions.isPending && (
        <div className="px-5 py-4">
          <SkeletonLines count={3} />
        </div>
      )}
      {sessions.error !== null && <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />}
      <ul className="divide-y">
        {rows.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            isBusy={end.isPending && end.variables === session.id}
            onEnd={() => end.mutate(session.id)}
          />
        ))}
      </ul>
    </Card>
  );
}

function SessionRow({
  session,
  isBusy,
  onEnd,
}: {
  readonly session: Session;
  readonly isBusy: boolean;
  readonly onEnd: () => void;
}) {
  const { isTerminal, name } = parseUserAgent(session.user_agent);
  return (
    <li className="flex items-center gap-3 py-2.5 pr-3 pl-5">
      <Icon name={isTerminal ? "terminal" : "screen"} className="text-soft" />
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-x-2">
          <span className="truncate font-medium">{name}</span>
          {session.current && <Badge tone="good">This session</Badge>}
        </span>
        <span className="block text-xs text-soft">
          {session.address ?? "Unknown IP address"} · Last seen <Time at={session.last_seen_at} /> · Signed in{" "}
          <Time at={session.created_at} as="short" />
        </span>
      </span>
      {!session.current && (
        <Button variant="quiet" size="small" onClick={onEnd} busy={isBusy}>
          Sign out
        </Button>
      )}
    </li>
  );
}

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, "Edge"],
  [/Firefox\//, "Firefox"],
  [/Chrom(?:e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Mac OS X/, "macOS"],
  [/Windows/, "Windows"],
  [/Linux/, "Linux"],
];

/** A rough name from the user agent, enough to recognise one's own devices. */
function parseUserAgent(userAgent: string | null): { readonly name: string; readonly isTerminal: boolean } {
  if (userAgent === null || userAgent === "") return { name: "Unknown client", isTerminal: true };
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = find(BROWSERS);
  if (browser === undefined) return { name: userAgent.slice(0, 60), isTerminal: true };
  const system = find(SYSTEMS);
  return { name: system === undefined ? browser : `${browser} on ${system}`, isTerminal: false };
}
