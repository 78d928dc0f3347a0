import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Args, call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { useManage } from "../../api/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Checkbox, Field, Input, Select, Textarea } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { useSearchParam, useWorkspace } from "../../url-state.ts";
import { keyLabels } from "../keys/key.ts";
import { composeBody, EMPTY_DRAFT, parseRequest, type RequestDraft, surfaceOf } from "./request-draft.ts";
import type { RouterEditing } from "./router-spec.ts";
import { type RoutingExplanation, routerBody } from "./router-spec.ts";
import { RoutingExplanationView } from "./routing-explanation-view.tsx";

type ExplainBody = NonNullable<Args<"manageExplainRouting">["body"]>;

/** Explains the routing of a request without sending it. */
export function DryRun({ editing }: { readonly editing: RouterEditing }) {
  const { workspace } = useWorkspace();
  const [surfaceName, setSurface] = useSearchParam("surface", "chat");
  const [keyId, setKeyId] = useSearchParam("key");
  const [mode, setMode] = useSearchParam("as", "form");
  const [requestDraft, setRequestDraft] = useState<RequestDraft>(EMPTY_DRAFT);
  const [text, setText] = useState("");
  const [bodyError, setBodyError] = useState<string | undefined>();
  const surface = surfaceOf(surfaceName);
  const run = useMutation<RoutingExplanation, ApiError, ExplainBody>({
    mutationFn: (body) => call("manageExplainRouting", { params: { workspace }, body }),
  });
  const switchMode = (as: string) => {
    if (as === "json" && text === "") setText(JSON.stringify(composeBody(requestDraft, surface), null, 2));
    setMode(as);
  };
  const start = () => {
    const request = mode === "json" ? parseRequest(text) : composeBody(requestDraft, surface);
    if (request === undefined) return setBodyError("Enter a JSON object: the request body.");
    setBodyError(undefined);
    const { slug, draft, spec } = editing;
    run.mutate({
      model: slug,
      surface,
      request,
      spec: routerBody(draft, spec),
      ...(keyId === "" ? {} : { key: keyId }),
    });
  };
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-5 lg:grid-cols-[minmax(0,26rem)_minmax(0,1fr)]">
      <Card title="Request" about="No provider is called, and nothing is charged or stored.">
        <form
          className="grid gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            start();
          }}
        >
          <div className="flex flex-wrap items-end gap-3">
            <SegmentedControl
              label="Input mode"
              options={[
                { value: "form", label: "Form" },
                { value: "json", label: "JSON body" },
              ]}
              value={mode}
              onChange={switchMode}
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
            <Field label="Body" error={bodyError}>
              <Textarea
                mono
                rows={12}
                value={text}
                onChange={(event) => setText(event.target.value)}
                spellCheck={false}
              />
            </Field>
          ) : (
            <ComposeFields value={requestDraft} onChange={setRequestDraft} />
          )}
          <KeyField value={keyId} onChange={setKeyId} />
          <ErrorNote error={run.error} />
          <Button type="submit" variant="primary" icon="route" busy={run.isPending} className="justify-self-start">
            Run dry run
          </Button>
        </form>
      </Card>
      {run.data === undefined ? (
        <Card>
          <EmptyState
            icon="route"
            title="No result yet"
            hint={`Fill in or paste a request to see where ${editing.isChanged ? "this draft" : "this router"} would route it.`}
          />
        </Card>
      ) : (
        <RoutingExplanationView explanation={run.data} isStale={run.isPending} />
      )}
    </div>
  );
}

function ComposeFields({
  value,
  onChange,
}: {
  readonly value: RequestDraft;
  readonly onChange: (value: RequestDraft) => void;
}) {
  const change = (fields: Partial<RequestDraft>) => onChange({ ...value, ...fields });
  return (
    <>
      <Field label="Message">
        <Textarea rows={4} value={value.message} onChange={(event) => change({ message: event.target.value })} />
      </Field>
      <Field label="Max output tokens" optional className="max-w-72">
        <Input
          type="number"
          min={1}
          inputMode="numeric"
          value={value.maxTokens}
          onChange={(event) => change({ maxTokens: event.target.value })}
        />
      </Field>
      <div className="grid gap-1.5">
        <p className="font-medium">Requirements</p>
        <Checkbox label="Tools" checked={value.tools} onChange={(tools) => change({ tools })} />
        <Checkbox label="Vision" checked={value.image} onChange={(image) => change({ image })} />
        <Checkbox label="JSON schema output" checked={value.schema} onChange={(schema) => change({ schema })} />
      </div>
    </>
  );
}

function KeyField({ value, onChange }: { readonly value: string; readonly onChange: (id: string) => void }) {
  const { workspace } = useWorkspace();
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 200 } });
  return (
    <Field label="Key" hint="A key's policy can be stricter than the workspace policy." optional>
      <Select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        options={[
          { value: "", label: "None (workspace policy only)" },
          ...[...keyLabels(keys.data?.data ?? [])].map(([value, label]) => ({ value, label })),
        ]}
      />
    </Field>
  );
}
