import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useSearchParam, useWorkspace } from "../../address.ts";
import { type Args, call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { numberText } from "../../format/number.ts";
import { DAY_MS } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Card, Stack, Toolbar } from "../../ui/layout.tsx";
import { ReplayResult } from "./replay-result.tsx";
import type { Edited } from "./spec.ts";
import { putOf, type Replay } from "./spec.ts";

type Asked = Args<"manageReplayRouter">["body"];

const PERIODS = [
  { value: "1", label: "Last 24 hours" },
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
  { value: "all", label: "As far as the log goes" },
];
const LIMITS = ["100", "1000", "5000", "10000"];

/** Past traffic, planned again through the draft: what it would have cost, and who would have served it. */
export function ReplayTab({ edited }: { readonly edited: Edited }) {
  const { workspace } = useWorkspace();
  const [days, setDays] = useSearchParam("days", "7");
  const [limit, setLimit] = useSearchParam("limit", "1000");
  const [model, setModel] = useSearchParam("model");
  const stop = useRef<AbortController>(undefined);
  const run = useMutation<Replay, ApiError, NonNullable<Asked>>({
    mutationFn: (body) => {
      stop.current = new AbortController();
      return call("manageReplayRouter", { params: { workspace, router: edited.slug }, body }, stop.current.signal);
    },
  });
  const start = () => {
    const since = days === "all" ? null : new Date(Date.now() - Number(days) * DAY_MS).toISOString();
    const { draft, spec } = edited;
    run.mutate({
      limit: Number(limit),
      spec: putOf(draft, spec),
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
              options={LIMITS.map((value) => ({ value, label: `newest ${numberText(Number(value))}` }))}
            />
          </Field>
          <Field label="Only this model" className="min-w-44 flex-1">
            <Input
              value={model}
              onChange={(event) => setModel(event.target.value)}
              placeholder="every model"
              spellCheck={false}
            />
          </Field>
          {run.isPending ? (
            <Button onClick={cancel}>Stop</Button>
          ) : (
            <Button type="submit" look="primary" icon="refresh">
              Replay
            </Button>
          )}
        </Toolbar>
      </form>
      {run.isPending ? (
        <Running limit={Number(limit)} />
      ) : run.error !== null ? (
        <Card>
          <ErrorState error={run.error} title="The replay did not finish" onRetry={start} />
        </Card>
      ) : run.data === undefined ? (
        <Card>
          <EmptyState
            icon="refresh"
            title="Nothing was replayed yet"
            hint={`Requests of the log are planned again as if they had come through ${edited.isChanged ? "this draft" : "this router"} now. Nobody is called.`}
          />
        </Card>
      ) : (
        <ReplayResult replay={run.data} />
      )}
    </Stack>
  );
}

/** How long it takes nobody knows before: it says that it goes on. */
function Running({ limit }: { readonly limit: number }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <Card>
      <div className="grid gap-3 py-6">
        <p role="status">Planning up to {numberText(limit)} requests again …</p>
        <div role="progressbar" aria-label="Replay" className="h-1.5 overflow-hidden rounded-full bg-line">
          <div className="h-full w-1/3 animate-[sweep_1.4s_ease-in-out_infinite] rounded-full bg-accent" />
        </div>
        <p className="figures text-xs text-soft">{seconds} s. The gateway goes on serving meanwhile.</p>
      </div>
    </Card>
  );
}
