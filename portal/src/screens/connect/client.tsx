import { useEffect, useId, useState } from "react";
import { useManageMutation, usePublic } from "../../api/hooks.ts";
import { useMe } from "../../api/me.ts";
import { usePermissions } from "../../api/permissions.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { OneTimeSecret } from "../../ui/one-time-secret.tsx";
import { useParam, useSearchParam, useWorkspace } from "../../url-state.ts";
import { useCallableModels } from "../playground/callable-models.ts";
import type { Client, Step } from "./client-kind.ts";
import { CLIENTS } from "./clients.ts";
import { LiveCheck } from "./live-check.tsx";

const PLACEHOLDER = "sk_svc_…";

export function Screen() {
  const id = useParam("client");
  const { at } = useWorkspace();
  const client = CLIENTS.find((one) => one.id === id);
  if (client === undefined)
    return (
      <EmptyState
        icon="plug"
        heading="h1"
        title="Client not found"
        hint="Any client with a configurable base URL and API key works the same way."
      >
        <LinkButton to={at("connect")}>All clients</LinkButton>
      </EmptyState>
    );
  return <ClientPage client={client} />;
}

function ClientPage({ client }: { readonly client: Client }) {
  const { workspace, at } = useWorkspace();
  const models = useCallableModels(workspace, "chat");
  const [chosen, choose] = useSearchParam("model");
  const [key, setKey] = useState<string>();
  const model = chosen || (models[0] ?? "auto");
  const contextTokens = useContextTokens(model);
  const steps = client.steps({ origin: location.origin, model, key: key ?? PLACEHOLDER, contextTokens });
  useEffect(() => {
    document.title = `${client.title} · Inference Gateway`;
  }, [client.title]);
  return (
    <>
      <PageHeader
        title={client.title}
        mark={<Badge>{client.apis}</Badge>}
        about={`${client.about} Use the base URL ${client.base}.`}
        actions={
          <>
            <ApiButton
              calls={[
                {
                  id: "manageListRequests",
                  args: { params: { workspace }, query: { limit: 20 } },
                  description: "List recent requests",
                },
              ]}
            />
            <LinkButton to={at("connect")} variant="quiet">
              All clients
            </LinkButton>
          </>
        }
      />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <Stack>
          <Card title="1. Create a key and choose a model">
            <div className="grid gap-4">
              <KeyStep client={client} createdKey={key} onCreated={setKey} />
              <ModelStep model={model} models={models} choose={choose} />
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
        <Card title="Troubleshooting" className="lg:sticky lg:top-6">
          <ul className="grid gap-3">
            {client.pitfalls.map((pitfall) => (
              <li key={pitfall} className="flex gap-2">
                <Icon name="warning" className="mt-0.5 text-warn" />
                <span className="min-w-0 text-pretty [overflow-wrap:anywhere]">{pitfall}</span>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </>
  );
}

/** The model's context length from the catalogue; routers have none. */
function useContextTokens(model: string): number | null {
  const path = `/v1/public/models/${model.split("/").map(encodeURIComponent).join("/")}`;
  const catalogueModel = usePublic<{ readonly context_tokens: number | null }>(path, { enabled: model.includes("/") });
  return catalogueModel.data?.context_tokens ?? null;
}

function StepCard({
  step: { title, description, file, code },
  number,
}: {
  readonly step: Step;
  readonly number: number;
}) {
  return (
    <Card title={`${number}. ${title}`} about={file}>
      <div className="grid gap-2">
        {description !== undefined && <p className="text-soft text-pretty">{description}</p>}
        {code !== undefined && <CodeBlock code={code} label={file ?? title} />}
      </div>
    </Card>
  );
}

type KeyStepProps = {
  readonly client: Client;
  readonly createdKey: string | undefined;
  readonly onCreated: (key: string) => void;
};

function KeyStep({ client, createdKey, onCreated }: KeyStepProps) {
  const { workspace, at } = useWorkspace();
  const me = useMe().data ?? null;
  const { role, isAdmin } = usePermissions(workspace);
  const isMember = role !== undefined && !isAdmin;
  const create = useManageMutation("manageCreateKey", {
    stale: ["manageListKeys"],
    onDone: ({ key }) => onCreated(key),
  });
  const createKey = () =>
    create.mutate({
      params: { workspace },
      body: { name: client.title, environment: "live", ...(isMember && me !== null ? { member: me.email } : {}) },
    });
  if (createdKey !== undefined)
    return (
      <OneTimeSecret secret={createdKey} label={`Key for ${client.title}`}>
        <p className="text-xs">It is filled in below while this page is open.</p>
      </OneTimeSecret>
    );
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button icon="key" onClick={createKey} busy={create.isPending}>
          Create key for {client.title}
        </Button>
        <span className="text-soft">
          or replace <code className="font-mono">{PLACEHOLDER}</code> with one of <Link to={at("keys")}>your keys</Link>
          .
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
      <Field label="Model" hint="Every chat model works with every client." className="max-w-md">
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
