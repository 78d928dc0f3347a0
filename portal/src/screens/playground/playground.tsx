import { type KeyboardEvent, type SyntheticEvent, useId, useState } from "react";
import { useWorkspace } from "../../address.ts";
import { Button } from "../../ui/button.tsx";
import { CodeTabs } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout, Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Segments, TabRow } from "../../ui/tabs.tsx";
import { AnswerView } from "./answer.tsx";
import { codeOf } from "./code.ts";
import { type Content, type Draft, EMPTY_CONTENT, isChat, SURFACES } from "./draft.ts";
import { ChatForm, DecisionsForm, EmbeddingsForm, type FormProps, SpeechForm, TranscriptionForm } from "./fields.tsx";
import { usePlaygroundKey } from "./key.ts";
import { useCallable, voicesOf } from "./models.ts";
import { useRun } from "./run.ts";
import { ServedCard, Wire } from "./served.tsx";
import { useSettings } from "./settings.ts";

/** Everything that the screen works with: settings of the address, what was written, the key and the run. */
function useDesk() {
  const { workspace, at } = useWorkspace();
  const address = useSettings();
  const { settings, environment, change } = address;
  const { models, isPending } = useCallable(workspace, settings.surface);
  const keys = usePlaygroundKey(workspace, environment);
  const running = useRun(keys);
  const [content, setContent] = useState<Content>(EMPTY_CONTENT);
  const [asked, setAsked] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [voices, setVoices] = useState<readonly string[]>([]);
  const draft: Draft = { ...settings, model: settings.model || (models[0]?.id ?? ""), ...content };
  const write = (said: Partial<Content>) => setContent((before) => ({ ...before, ...said }));

  /** Without a voice no model speaks: the first one it has. */
  const chosenVoice = async (): Promise<string> => {
    if (draft.surface !== "speech" || draft.voice !== "") return draft.voice;
    const known = await keys.get().then(
      (key) => voicesOf(key, draft.model),
      () => [],
    );
    setVoices(known);
    if (known[0] !== undefined) change("voice", known[0]);
    return known[0] ?? "";
  };

  const send = async () => {
    if (running.run.state === "running" || keys.refusal !== undefined) return;
    setAsked(content.prompt);
    const voice = await chosenVoice();
    const ended = await running.start({ ...draft, voice }, file);
    if (!isChat(draft.surface) || ended.state !== "done" || ended.error !== null || ended.answer.text === "") return;
    // What was said becomes part of the conversation, and the field is free for what comes next.
    write({
      prompt: "",
      images: [],
      turns: [...content.turns, { role: "user", text: content.prompt }, { role: "assistant", text: ended.answer.text }],
    });
  };

  const begin = (surface: string) => {
    running.stop();
    running.reset();
    write({ turns: [], tools: "", schema: "" });
    address.setSurface(surface);
  };
  return {
    at,
    ...address,
    models,
    isPending,
    keys,
    ...running,
    draft,
    write,
    asked,
    file,
    setFile,
    voices,
    send,
    begin,
  };
}

/** Any surface, any model the workspace may use: a real request, and what served it. */
export function Screen() {
  const desk = useDesk();
  const { draft, run, at } = desk;
  const tabs = useId();
  const isUnfinished = run.error?.code === "unfinished";
  return (
    <>
      <PageHeader
        title="Playground"
        about="Real requests with a key of this page’s own. The link holds the model and the settings, never what you wrote."
        actions={
          <>
            <CopyButton text={location.href} label="Copy the link to these settings">
              Copy link
            </CopyButton>
            <CodeButton draft={draft} fileName={desk.file?.name ?? "audio.wav"} />
          </>
        }
      />
      <div className="mb-5">
        <TabRow
          tabs={SURFACES}
          label="Surface"
          chosen={draft.surface}
          choose={desk.begin}
          idOf={(id) => `${tabs}-${id}`}
          panelId={`${tabs}-panel`}
        />
      </div>
      <div
        id={`${tabs}-panel`}
        role="tabpanel"
        aria-labelledby={`${tabs}-${draft.surface}`}
        className="grid items-start gap-5 lg:grid-cols-2"
      >
        <Card>
          <RequestForm desk={desk} />
        </Card>
        <Stack>
          <Card title="Answer">
            {/* What is still missing stands at its field. */}
            <AnswerView
              draft={draft}
              run={isUnfinished ? { ...run, error: null, state: "idle" } : run}
              prompt={desk.asked}
            />
          </Card>
          <ServedCard run={run} requestPath={(id) => at(`requests/${encodeURIComponent(id)}`)} />
          <Wire run={run} />
        </Stack>
      </div>
    </>
  );
}

function RequestForm({ desk }: { readonly desk: ReturnType<typeof useDesk> }) {
  const { draft, write, change, setStream, run, keys, models } = desk;
  const problem = run.error?.code === "unfinished" ? { at: run.error.param ?? "", says: run.error.message } : undefined;
  const form: FormProps = { draft, write, change, setStream, problem };
  const restart = () => {
    desk.reset();
    write({ turns: [] });
  };
  return (
    <SendForm onSend={() => void desk.send()}>
      <ModelField
        model={draft.model}
        models={models}
        onChange={(value) => change("model", value)}
        error={problem?.at === "model" ? problem.says : undefined}
      />
      {!desk.isPending && models.length === 0 && <NothingToCall to={desk.at("policy")} />}
      <Form form={form} voices={desk.voices} file={desk.file} setFile={desk.setFile} />
      <KeyPart keys={keys} environment={desk.environment} setEnvironment={desk.setEnvironment} />
      <div className="flex flex-wrap items-center gap-2">
        {/* Two buttons and not one that changes: it would be a submit button by the time its click ends. */}
        {run.state === "running" ? (
          <Button key="stop" look="danger" icon="close" onClick={desk.stop}>
            Stop
          </Button>
        ) : (
          <Button key="send" type="submit" look="primary" icon="play" disabled={keys.refusal !== undefined}>
            Send
          </Button>
        )}
        {draft.turns.length > 0 && (
          <Button look="quiet" onClick={restart}>
            New conversation
          </Button>
        )}
      </div>
    </SendForm>
  );
}

/** Ctrl and Enter send from anywhere in the form. */
function SendForm({ onSend, children }: { readonly onSend: () => void; readonly children: React.ReactNode }) {
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSend();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return (
    <form onSubmit={submit} onKeyDown={onKeyDown} className="grid gap-4" aria-label="Request">
      {children}
    </form>
  );
}

type FormParts = {
  readonly form: FormProps;
  readonly voices: readonly string[];
  readonly file: File | null;
  readonly setFile: (file: File | null) => void;
};

function Form({ form, voices, file, setFile }: FormParts) {
  switch (form.draft.surface) {
    case "chat":
    case "messages":
    case "responses":
      return <ChatForm {...form} />;
    case "embeddings":
      return <EmbeddingsForm {...form} />;
    case "speech":
      return <SpeechForm {...form} voices={voices} />;
    case "transcriptions":
      return <TranscriptionForm {...form} file={file} setFile={setFile} />;
    case "decisions":
      return <DecisionsForm {...form} />;
  }
}

function ModelField({
  model,
  models,
  onChange,
  error,
}: {
  readonly model: string;
  readonly models: readonly { readonly id: string; readonly note: string }[];
  readonly onChange: (model: string) => void;
  readonly error: string | undefined;
}) {
  const id = useId();
  return (
    <>
      <Field label="Model" error={error}>
        <Input
          mono
          list={id}
          value={model}
          onChange={(event) => onChange(event.target.value)}
          placeholder="creator/model"
          spellCheck={false}
          autoComplete="off"
        />
      </Field>
      <datalist id={id}>
        {models.map(({ id: value, note }) => (
          <option key={value} value={value} label={note} />
        ))}
      </datalist>
    </>
  );
}

function NothingToCall({ to }: { readonly to: string }) {
  return (
    <Callout
      tone="warn"
      title="No model can be called here"
      action={
        <LinkButton to={to} size="small">
          Open the policy
        </LinkButton>
      }
    >
      No connected provider serves this surface, or the policy keeps all of them out.
    </Callout>
  );
}

type KeyPartProps = {
  readonly keys: ReturnType<typeof usePlaygroundKey>;
  readonly environment: string;
  readonly setEnvironment: (to: string) => void;
};

function KeyPart({ keys, environment, setEnvironment }: KeyPartProps) {
  return (
    <details open={keys.refusal !== undefined || keys.pasted !== ""} className="rounded-md border px-3 py-2">
      <summary className="min-h-6 cursor-pointer font-medium text-soft hover:text-ink">
        Key: {keys.pasted === "" ? `made for an hour, ${environment}` : "pasted"}
      </summary>
      <div className="mt-3 grid gap-3 pb-1">
        {keys.refusal !== undefined && <Callout tone="warn">{keys.refusal}</Callout>}
        {keys.pasted === "" && (
          <div className="flex flex-wrap items-center justify-between gap-2">
            <span className="text-soft">Environment of the key</span>
            <Segments
              label="Environment of the key"
              value={environment}
              onChange={setEnvironment}
              options={[
                { value: "test", label: "Test" },
                { value: "live", label: "Live" },
              ]}
            />
          </div>
        )}
        <Field label="Use a key of yours" hint="It stays in this page and is gone when you leave it." optional>
          <Input
            type="password"
            mono
            autoComplete="off"
            value={keys.pasted}
            onChange={(event) => keys.setPasted(event.target.value.trim())}
            placeholder="sk_svc_…"
          />
        </Field>
      </div>
    </details>
  );
}

function CodeButton({ draft, fileName }: { readonly draft: Draft; readonly fileName: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const code = isOpen ? codeOf(draft, location.origin, fileName) : undefined;
  return (
    <>
      <Button icon="terminal" onClick={() => setIsOpen(true)}>
        Code
      </Button>
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="This request as code" size="wide">
        {code === undefined ? (
          <p className="text-soft">Finish the request first: it needs a model and something to say.</p>
        ) : (
          <>
            <p className="text-soft">
              The key comes from the environment: <code className="font-mono">export GATEWAY_KEY=sk_svc_…</code>
            </p>
            <CodeTabs
              label="Language"
              snippets={[
                { id: "curl", label: "curl", code: code.curl },
                { id: "typescript", label: "TypeScript", code: code.typescript },
                { id: "python", label: "Python", code: code.python },
              ]}
            />
          </>
        )}
      </Dialog>
    </>
  );
}
