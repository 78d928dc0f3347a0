import { useState } from "react";
import type { ApiResponse } from "../../api/client.ts";
import { useManage, useManageMutation } from "../../api/hooks.ts";
import { bytesText } from "../../format/number.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { ErrorNote, ErrorState } from "../../ui/error-state.tsx";
import { Checkbox, Field, Select } from "../../ui/field.tsx";
import { Callout, Card, KeyValue, Progress, Stack } from "../../ui/layout.tsx";
import { SaveBar } from "../../ui/save-bar.tsx";
import { SkeletonLines } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.ts";
import { useWorkspace } from "../../url-state.ts";

type CacheSettings = NonNullable<ApiResponse<"manageShowPolicy">["cache"]>;

const LIFETIMES = [
  { seconds: 0, label: "Off" },
  { seconds: 300, label: "5 minutes" },
  { seconds: 3_600, label: "1 hour" },
  { seconds: 86_400, label: "1 day" },
  { seconds: 604_800, label: "7 days" },
];

/** Whether identical requests of the workspace are served by an earlier reply, and what is kept. */
export function CachePolicy({ current, mayChange }: { readonly current: CacheSettings; readonly mayChange: boolean }) {
  const [draft, setDraft] = useState<CacheSettings | undefined>();
  const settings = draft ?? current;
  const isChanged = JSON.stringify(settings) !== JSON.stringify(current);
  useUnsavedChanges(isChanged);
  const { ttl = 0, coalesce = false, requests = "allow" } = settings;
  const known = LIFETIMES.some(({ seconds }) => seconds === ttl);
  const change = (more: Partial<CacheSettings>) => setDraft({ ...settings, ...more });
  return (
    <Stack>
      {!mayChange && <Callout title="Read-only">Only admins and owners can change the policy.</Callout>}
      <Card
        title="Response cache"
        about="Identical requests are served by an earlier reply, free of charge. Keys, routers and requests can set their own lifetime."
      >
        <div className="grid gap-4">
          <Field label="Lifetime of a reply" hint="The operator may have set a lower maximum.">
            <Select
              className="max-w-xs"
              disabled={!mayChange}
              value={String(ttl)}
              onChange={({ target }) => change({ ttl: Number(target.value) })}
            >
              {!known && <option value={String(ttl)}>{ttl} seconds</option>}
              {LIFETIMES.map(({ seconds, label }) => (
                <option key={seconds} value={String(seconds)}>
                  {label}
                </option>
              ))}
            </Select>
          </Field>
          <Checkbox
            label="Merge identical requests that run at the same time"
            hint="The others wait for the first one and get its reply."
            disabled={!mayChange}
            checked={coalesce}
            onChange={(isOn) => change({ coalesce: isOn })}
          />
          <Checkbox
            label="Requests may set their own lifetime"
            hint="Otherwise a request with the field cache is refused."
            disabled={!mayChange}
            checked={requests === "allow"}
            onChange={(isOn) => change({ requests: isOn ? "allow" : "forbid" })}
          />
        </div>
      </Card>
      <CachedReplies mayChange={mayChange} />
      {mayChange && isChanged && <SaveCache settings={settings} discard={() => setDraft(undefined)} />}
    </Stack>
  );
}

function CachedReplies({ mayChange }: { readonly mayChange: boolean }) {
  const { workspace } = useWorkspace();
  const cache = useManage("manageShowCache", { params: { workspace } });
  const [isConfirming, setIsConfirming] = useState(false);
  const purge = useManageMutation("managePurgeCache", {
    onDone: ({ deleted }) => {
      toast(deleted === 1 ? "1 reply deleted" : `${deleted} replies deleted`);
      setIsConfirming(false);
    },
  });
  const { data } = cache;
  return (
    <Card
      title="Cached replies"
      about="Encrypted, and deleted when they expire"
      actions={
        mayChange &&
        data !== undefined &&
        data.replies > 0 && (
          <Button variant="danger" size="small" onClick={() => setIsConfirming(true)}>
            Delete all
          </Button>
        )
      }
    >
      {cache.error !== null && data === undefined ? (
        <ErrorState error={cache.error} onRetry={() => void cache.refetch()} />
      ) : data === undefined ? (
        <SkeletonLines count={2} />
      ) : (
        <KeyValue
          rows={[
            { name: "Replies", value: data.replies },
            {
              name: "Storage",
              value: (
                <div className="grid max-w-xs gap-1.5">
                  {bytesText(data.used_bytes)} of {bytesText(data.max_bytes)}
                  <Progress share={data.used_bytes / Math.max(1, data.max_bytes)} label="Storage used" />
                </div>
              ),
            },
          ]}
        />
      )}
      <Confirm
        open={isConfirming}
        danger
        onClose={() => setIsConfirming(false)}
        title="Delete all cached replies?"
        action="Delete all replies"
        busy={purge.isPending}
        error={purge.error}
        onConfirm={() => purge.mutate({ params: { workspace } })}
      >
        <p>Identical requests run and are charged again. The request log is kept.</p>
      </Confirm>
    </Card>
  );
}

function SaveCache({ settings, discard }: { readonly settings: CacheSettings; readonly discard: () => void }) {
  const { workspace } = useWorkspace();
  const save = useManageMutation("manageChangePolicy", {
    onDone: () => {
      discard();
      toast("Cache settings saved");
    },
  });
  return (
    <SaveBar
      title="Response cache changed"
      note="The settings hold from the next request on."
      actions={
        <>
          <Button onClick={discard}>Discard</Button>
          <Button
            variant="primary"
            busy={save.isPending}
            onClick={() => save.mutate({ params: { workspace }, body: { cache: settings } })}
          >
            Save settings
          </Button>
        </>
      }
    >
      <ErrorNote error={save.error} />
    </SaveBar>
  );
}
