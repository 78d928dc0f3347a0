import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParam, useWorkspace } from "../../address.ts";
import { type Args, call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { useManage } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Select, Textarea } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { keyLabels } from "../keys/key.ts";
import { type Composing, composed, EMPTY, requestIn, surfaceOf } from "./compose.ts";
import { ExplainedView } from "./explained.tsx";
import type { Edited } from "./spec.ts";
import { type Explained, putOf } from "./spec.ts";

type Asked = NonNullable<Args<"manageExplainRouting">["body"]>;

/** A request that is not sent: where it would go, and why. */
export function DryRun({ edited }: { readonly edited: Edited }) {
  const { workspace } = useWorkspace();
  const [surfaceName, setSurface] = useSearchParam("surface", "chat");
  const [keyId, setKeyId] = useSearchParam("key");
  const [mode, setMode] = useSearchParam("as", "form");
  const [composing, setComposing] = useState<Composing>(EMPTY);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | undefined>();
  const surface = surfaceOf(surfaceName);
  const run = useMutation<Explained, ApiError, Asked>({
    mutationFn: (body) => call("manageExplainRouting", { params: { workspace }, body }),
  });
  const toJson = (as: string) => {
    if (as === "json" && text === "") setText(JSON.stringify(composed(composing, surface), null, 2));
    setMode(as);
  };
  const start = () => {
    const request = mode === "json" ? requestIn(text) : composed(composing, surface);
    if (request === undefined) return setProblem("Write one JSON object: the body as the caller would send it.");
    setProblem(undefined);
    const { slug, draft, spec } = edited;
    run.mutate({ model: slug, surface, request, spec: putOf(draft, spec), ...(keyId === "" ? {} : { key: keyId }) });
  };
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,26rem)_minmax(0,1fr)]">
      <Card title="Request" about="Nobody is called, nothing is charged, nothing is kept.">
        <form
          className="grid gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            start();
          }}
        >
          <div className="flex flex-wrap items-end gap-3">
            <Segments
              label="How it is written"
              options={[
                { value: "form", label: "Compose" },
                { value: "json", label: "JSON body" },
              ]}
              value={mode}
              onChange={toJson}
            />
            <Field label="Surface" className="min-w-32 flex-1">
              <Select
                value={surface}
                onChange={(event) => setSurface(event.target.value)}
                options={[
                  { value: "chat", label: "Chat completions" },
                  { value: "messages", label: "Messages" },
                  { value: "responses", label: "Responses" },
                ]}
              />
            </Field>
          </div>
          {mode === "json" ? (
            <Field label="Body" error={problem}>
              <Textarea
                mono
                rows={12}
                value={text}
                onChange={(event) => setText(event.target.value)}
                spellCheck={false}
              />
            </Field>
          ) : (
            <ComposeFields value={composing} onChange={setComposing} />
          )}
          <KeyField value={keyId} onChange={setKeyId} />
          <ErrorNote error={run.error} />
          <Button type="submit" look="primary" icon="route" busy={run.isPending} className="justify-self-start">
            Where would it go?
          </Button>
        </form>
      </Card>
      {run.data === undefined ? (
        <Card>
          <EmptyState
            icon="route"
            title="Nothing was asked yet"
            hint={`Compose a request, or paste one, and see where ${edited.isChanged ? "this draft" : "this router"} would send it.`}
          />
        </Card>
      ) : (
        <ExplainedView answer={run.data} isStale={run.isPending} />
      )}
    </div>
  );
}

function ComposeFields({
  value,
  onChange,
}: {
  readonly value: Composing;
  readonly onChange: (value: Composing) => void;
}) {
  const put = (change: Partial<Composing>) => onChange({ ...value, ...change });
  return (
    <>
      <Field label="Message">
        <Textarea rows={4} value={value.message} onChange={(event) => put({ message: event.target.value })} />
      </Field>
      <Field label="Most tokens of the answer" optional className="max-w-72">
        <Input
          type="number"
          min={1}
          inputMode="numeric"
          value={value.maxTokens}
          onChange={(event) => put({ maxTokens: event.target.value })}
        />
      </Field>
      <div className="grid gap-1.5">
        <p className="font-medium">It needs</p>
        <Checkbox label="Tools" checked={value.tools} onChange={(tools) => put({ tools })} />
        <Checkbox label="An image read" checked={value.image} onChange={(image) => put({ image })} />
        <Checkbox label="An answer in a JSON schema" checked={value.schema} onChange={(schema) => put({ schema })} />
      </div>
    </>
  );
}

function KeyField({ value, onChange }: { readonly value: string; readonly onChange: (id: string) => void }) {
  const { workspace } = useWorkspace();
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 200 } });
  return (
    <Field label="Key" hint="A key can be stricter than the workspace." optional>
      <Select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        options={[
          { value: "", label: "None: the workspace's policy alone" },
          ...[...keyLabels(keys.data?.data ?? [])].map(([value, label]) => ({ value, label })),
        ]}
      />
    </Field>
  );
}
