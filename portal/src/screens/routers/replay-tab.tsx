import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type Args, call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { numberText } from "../../format/number.ts";
import { DAY_MS } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Card, Stack, Toolbar } from "../../ui/layout.tsx";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { ReplayResult } from "./replay-result.tsx";
import type { RouterEditing } from "./router-spec.ts";
import { type Replay, routerBody } from "./router-spec.ts";

type ReplayBody = Args<"manageReplayRouter">["body"];

const PERIODS = [
  { value: "1", label: "Last 24 hours" },
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
  { value: "all", label: "Entire log" },
];
const LIMITS = ["100", "1000", "5000", "10000"];

/** Replays past requests with the draft to compare cost and endpoints. */
export function ReplayTab({ editing }: { readonly editing: RouterEditing }) {
  const { workspace } = useWorkspace();
  const [days, setDays] = useSearchParam("days", "7");
  const [limit, setLimit] = useSearchParam("limit", "1000");
  const [model, setModel] = useSearchParam("model");
  const stop = useRef<AbortController>(undefined);
  const run = useMutation<Replay, ApiError, NonNullable<ReplayBody>>({
    mutationFn: (body) => {
      stop.current = new AbortController();
      return call("manageReplayRouter", { params: { workspace, router: editing.slug }, body }, stop.current.signal);
    },
  });
  const start = () => {
    const since = days === "all" ? null : new Date(Date.now() - Number(days) * DAY_MS).toISOString();
    const { draft, spec } = editing;
    run.mutate({
      limit: Number(limit),
      spec: routerBody(draft, spec),
      ...(since === null ? {} : { since }),
      ...(model === "" ? {} : { model }),
    });
  };
  const cancel = () => {
    stop.current?.abort();
    run.reset();
  };
  return (
    <Stack>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <Toolbar>
          <Field label="Period" className="min-w-44">
            <Select value={days} onChange={(event) => setDays(event.target.value)} options={PERIODS} />
          </Field>
          <Field label="Requests" className="min-w-32">
            <Select
              value={limit}
              onChange={(event) => setLimit(event.target.value)}
              options={LIMITS.map((value) => ({ value, label: `Newest ${numberText(Number(value))}` }))}
            />
          </Field>
          <Field label="Model" className="min-w-44 flex-1">
            <Input
              value={model}
              onChange={(event) => setModel(event.target.value)}
              placeholder="All models"
              spellCheck={false}
            />
          </Field>
          {run.isPending ? (
            <Button onClick={cancel}>Stop</Button>
          ) : (
            <Button type="submit" variant="primary" icon="refresh">
              Run replay
            </Button>
          )}
        </Toolbar>
      </form>
      {run.isPending ? (
        <ReplayProgress limit={Number(limit)} />
      ) : run.error !== null ? (
        <Card>
          <ErrorState error={run.error} title="Replay failed" onRetry={start} />
        </Card>
      ) : run.data === undefined ? (
        <Card>
          <EmptyState
            icon="refresh"
            title="No result yet"
            hint={`A replay routes logged requests through ${editing.isChanged ? "this draft" : "this router"} without calling any provider.`}
          />
        </Card>
      ) : (
        <ReplayResult replay={run.data} />
      )}
    </Stack>
  );
}

/** Indeterminate progress: the duration is unknown. */
function ReplayProgress({ limit }: { readonly limit: number }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <Card>
      <div className="grid gap-3 py-6">
        <p role="status">Replaying up to {numberText(limit)} requests…</p>
        <div role="progressbar" aria-label="Replay" className="h-1.5 overflow-hidden rounded-full bg-line">
          <div className="h-full w-1/3 animate-[sweep_1.4s_ease-in-out_infinite] rounded-full bg-accent" />
        </div>
        <p className="figures text-xs text-soft">{seconds} s. The gateway keeps serving requests.</p>
      </div>
    </Card>
  );
}
