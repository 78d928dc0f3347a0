import { useEffect, useId, useState } from "react";
import { useParam, useSearchParam, useWorkspace } from "../../address.ts";
import { useManageMutation, usePublic } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { usePermissions } from "../../api/powers.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { useCallable } from "../playground/models.ts";
import type { Client, Step } from "./client-kind.ts";
import { CLIENTS } from "./clients.ts";
import { LiveCheck } from "./live-check.tsx";

const PLACEHOLDER = "sk_svc_…";

/** One client: key, configuration, what goes wrong, and a check that waits for its first request. */
export function Screen() {
  const id = useParam("client");
  const { at } = useWorkspace();
  const client = CLIENTS.find((one) => one.id === id);
  if (client === undefined)
    return (
      <EmptyState
        icon="plug"
        heading="h1"
        title="This client is not here"
        hint="Any client that takes a base address and a key works the same way."
      >
        <LinkButton to={at("connect")}>All clients</LinkButton>
      </EmptyState>
    );
  return <ClientPage client={client} />;
}

function ClientPage({ client }: { readonly client: Client }) {
  const { workspace, at } = useWorkspace();
  const { models } = useCallable(workspace, "chat");
  const [chosen, choose] = useSearchParam("model");
  const [key, setKey] = useState<string>();
  const model = chosen || (models[0]?.id ?? "auto");
  const contextTokens = useContext(model);
  const steps = client.steps({ origin: location.origin, model, key: key ?? PLACEHOLDER, contextTokens });
  useEffect(() => {
    document.title = `${client.title} · Inference Gateway`;
  }, [client.title]);
  return (
    <>
      <PageHeader
        title={client.title}
        mark={<Badge>speaks {client.speaks}</Badge>}
        about={`${client.about} Its base address is ${client.base}.`}
        actions={
          <>
            <CallButton
              calls={[
                {
                  id: "manageListRequests",
                  args: { params: { workspace }, query: { limit: 20 } },
                  says: "What the check looks at",
                },
              ]}
            />
            <LinkButton to={at("connect")} look="quiet">
              All clients
            </LinkButton>
          </>
        }
      />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <Stack>
          <Card title="1. A key and a model">
            <div className="grid gap-4">
              <KeyStep client={client} made={key} onMade={setKey} />
              <ModelStep model={model} models={models.map(({ id }) => id)} choose={choose} />
            </div>
          </Card>
          {steps.map((step, index) => (
            <StepCard key={step.title} step={step} number={index + 2} />
          ))}
          <LiveCheck
            workspace={workspace}
            client={client}
            requestPath={(id) => at(`requests/${encodeURIComponent(id)}`)}
          />
        </Stack>
        <Card title="What goes wrong" className="lg:sticky lg:top-6">
          <ul className="grid gap-3">
            {client.traps.map((trap) => (
              <li key={trap} className="flex gap-2">
                <Icon name="warning" className="mt-0.5 text-warn" />
                <span className="min-w-0 text-pretty [overflow-wrap:anywhere]">{trap}</span>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </>
  );
}

/** How much the model reads, as the catalogue says it; routers have no such figure. */
function useContext(model: string): number | null {
  const path = `/v1/public/models/${model.split("/").map(encodeURIComponent).join("/")}`;
  const known = usePublic<{ readonly context_tokens: number | null }>(path, { enabled: model.includes("/") });
  return known.data?.context_tokens ?? null;
}

function StepCard({ step: { title, says, file, code }, number }: { readonly step: Step; readonly number: number }) {
  return (
    <Card title={`${number}. ${title}`} about={file}>
      <div className="grid gap-2">
        {says !== undefined && <p className="text-soft text-pretty">{says}</p>}
        {code !== undefined && <CodeBlock code={code} label={file ?? title} />}
      </div>
    </Card>
  );
}

type KeyStepProps = {
  readonly client: Client;
  readonly made: string | undefined;
  readonly onMade: (key: string) => void;
};

function KeyStep({ client, made, onMade }: KeyStepProps) {
  const { workspace, at } = useWorkspace();
  const me = useMe().data ?? null;
  const { role, isAdmin } = usePermissions(workspace);
  const isMember = role !== undefined && !isAdmin;
  const create = useManageMutation("manageCreateKey", { stale: ["manageListKeys"], onDone: ({ key }) => onMade(key) });
  const make = () =>
    create.mutate({
      params: { workspace },
      body: { name: client.title, environment: "live", ...(isMember && me !== null ? { member: me.email } : {}) },
    });
  if (made !== undefined)
    return (
      <ShownOnce secret={made} label={`Key for ${client.title}`}>
        <p className="text-xs">It stands in the lines below as long as this page is open.</p>
      </ShownOnce>
    );
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button icon="key" onClick={make} busy={create.isPending}>
          Make a key for {client.title}
        </Button>
        <span className="text-soft">
          or use one of <Link to={at("keys")}>your keys</Link>: put it where {PLACEHOLDER} stands.
        </span>
      </div>
      <ErrorNote error={create.error} />
    </div>
  );
}

function ModelStep({
  model,
  models,
  choose,
}: {
  readonly model: string;
  readonly models: readonly string[];
  readonly choose: (model: string) => void;
}) {
  const id = useId();
  return (
    <>
      <Field label="Model" hint="Any chat model works with any client." className="max-w-md">
        <Input
          mono
          list={id}
          value={model}
          onChange={(event) => choose(event.target.value)}
          spellCheck={false}
          autoComplete="off"
        />
      </Field>
      <datalist id={id}>
        {models.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  );
}
