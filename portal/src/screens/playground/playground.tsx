import { type KeyboardEvent, type SyntheticEvent, useId, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CodeTabs } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Callout, Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { SegmentedControl, TabRow } from "../../ui/tabs.tsx";
import { useWorkspace } from "../../url-state.ts";
import { fetchVoices, useCallableModels } from "./callable-models.ts";
import { codeOf } from "./code-samples.ts";
import { type Content, type Draft, EMPTY_CONTENT, isChat, SURFACES } from "./draft.ts";
import { ChatForm, DecisionsForm, EmbeddingsForm, type FormProps, SpeechForm, TranscriptionForm } from "./fields.tsx";
import { usePlaygroundKey } from "./playground-key.ts";
import { ResponseView } from "./response-view.tsx";
import { RawResponse, RoutingCard } from "./routing-card.tsx";
import { useRun } from "./run.ts";
import { useSettings } from "./settings.ts";

/** The state of the screen: URL settings, content, key and run. */
function usePlayground() {
  const { workspace, at } = useWorkspace();
  const urlSettings = useSettings();
  const { settings, environment, change } = urlSettings;
  const { models, isPending } = useCallableModels(workspace, settings.surface);
  const keys = usePlaygroundKey(workspace, environment);
  const runner = useRun(keys);
  const [content, setContent] = useState<Content>(EMPTY_CONTENT);
  const [sentPrompt, setSentPrompt] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [voices, setVoices] = useState<readonly string[]>([]);
  const draft: Draft = { ...settings, model: settings.model || (models[0]?.id ?? ""), ...content };
  const write = (change: Partial<Content>) => setContent((before) => ({ ...before, ...change }));

  /** Speech needs a voice; defaults to the model's first one. */
  const resolveVoice = async (): Promise<string> => {
    if (draft.surface !== "speech" || draft.voice !== "") return draft.voice;
    const available = await keys.get().then(
      (key) => fetchVoices(key, draft.model),
      () => [],
    );
    setVoices(available);
    if (available[0] !== undefined) change("voice", available[0]);
    return available[0] ?? "";
  };

  const send = async () => {
    if (runner.run.state === "running" || keys.refusal !== undefined) return;
    setSentPrompt(content.prompt);
    const voice = await resolveVoice();
    const finished = await runner.start({ ...draft, voice }, file);
    if (!isChat(draft.surface) || finished.state !== "done" || finished.error !== null || finished.reply.text === "")
      return;
    // Moves the exchange into the conversation and clears the prompt.
    write({
      prompt: "",
      images: [],
      turns: [
        ...content.turns,
        { role: "user", text: content.prompt },
        { role: "assistant", text: finished.reply.text },
      ],
    });
  };

  const switchSurface = (surface: string) => {
    runner.stop();
    runner.reset();
    write({ turns: [], tools: "", schema: "" });
    urlSettings.setSurface(surface);
  };
  return {
    at,
    ...urlSettings,
    models,
    isPending,
    keys,
    ...runner,
    draft,
    write,
    sentPrompt,
    file,
    setFile,
    voices,
    send,
    switchSurface,
  };
}

export function Screen() {
  const playground = usePlayground();
  const { draft, run, at } = playground;
  const tabs = useId();
  const isInvalidDraft = run.error?.code === "invalid_draft";
  return (
    <>
      <PageHeader
        title="Playground"
        about="Send real requests with a temporary key. The link contains the model and settings, never your content."
        actions={
          <>
            <CopyButton text={location.href} label="Copy link to these settings">
              Copy link
            </CopyButton>
            <CodeButton draft={draft} fileName={playground.file?.name ?? "audio.wav"} />
          </>
        }
      />
      <div className="mb-5">
        <TabRow
          tabs={SURFACES}
          label="Surface"
          chosen={draft.surface}
          choose={playground.switchSurface}
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
          <RequestForm playground={playground} />
        </Card>
        <Stack>
          <Card title="Response">
            {/* Validation errors are shown at their fields. */}
            <ResponseView
              draft={draft}
              run={isInvalidDraft ? { ...run, error: null, state: "idle" } : run}
              prompt={playground.sentPrompt}
            />
          </Card>
          <RoutingCard run={run} requestPath={(id) => at(`requests/${encodeURIComponent(id)}`)} />
          <RawResponse run={run} />
        </Stack>
      </div>
    </>
  );
}

function RequestForm({ playground }: { readonly playground: ReturnType<typeof usePlayground> }) {
  const { draft, write, change, setStream, run, keys, models } = playground;
  const problem =
    run.error?.code === "invalid_draft" ? { at: run.error.param ?? "", message: run.error.message } : undefined;
  const form: FormProps = { draft, write, change, setStream, problem };
  const restart = () => {
    playground.reset();
    write({ turns: [] });
  };
  return (
    <SendForm onSend={() => void playground.send()}>
      <ModelField
        model={draft.model}
        models={models}
        onChange={(value) => change("model", value)}
        error={problem?.at === "model" ? problem.message : undefined}
      />
      {!playground.isPending && models.length === 0 && <NoModels to={playground.at("policy")} />}
      <SurfaceForm form={form} voices={playground.voices} file={playground.file} setFile={playground.setFile} />
      <KeySection keys={keys} environment={playground.environment} setEnvironment={playground.setEnvironment} />
      <div className="flex flex-wrap items-center gap-2">
        {/* Two buttons: a single one would become a submit button before its click event ends. */}
        {run.state === "running" ? (
          <Button key="stop" variant="danger" icon="close" onClick={playground.stop}>
            Stop
          </Button>
        ) : (
          <Button key="send" type="submit" variant="primary" icon="play" disabled={keys.refusal !== undefined}>
            Send
          </Button>
        )}
        {draft.turns.length > 0 && (
          <Button variant="quiet" onClick={restart}>
            New conversation
          </Button>
        )}
      </div>
    </SendForm>
  );
}

/** Ctrl+Enter submits from any field. */
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

type SurfaceFormProps = {
  readonly form: FormProps;
  readonly voices: readonly string[];
  readonly file: File | null;
  readonly setFile: (file: File | null) => void;
};

function SurfaceForm({ form, voices, file, setFile }: SurfaceFormProps) {
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

function NoModels({ to }: { readonly to: string }) {
  return (
    <Callout
      tone="warn"
      title="No models available"
      action={
        <LinkButton to={to} size="small">
          View policy
        </LinkButton>
      }
    >
      No connected provider serves this surface, or your policy excludes all endpoints.
    </Callout>
  );
}

type KeySectionProps = {
  readonly keys: ReturnType<typeof usePlaygroundKey>;
  readonly environment: string;
  readonly setEnvironment: (to: string) => void;
};

function KeySection({ keys, environment, setEnvironment }: KeySectionProps) {
  return (
    <details open={keys.refusal !== undefined || keys.pasted !== ""} className="rounded-md border px-3 py-2">
      <summary className="min-h-6 cursor-pointer font-medium text-soft hover:text-ink">
        Key: {keys.pasted === "" ? `temporary (1 hour), ${environment}` : "your key"}
      </summary>
      <div className="mt-3 grid gap-3 pb-1">
        {keys.refusal !== undefined && <Callout tone="warn">{keys.refusal}</Callout>}
        {keys.pasted === "" && (
          <div className="flex flex-wrap items-center justify-between gap-2">
            <span className="text-soft">Key environment</span>
            <SegmentedControl
              label="Key environment"
              value={environment}
              onChange={setEnvironment}
              options={[
                { value: "test", label: "Test" },
                { value: "live", label: "Live" },
              ]}
            />
          </div>
        )}
        <Field label="Use your own key" hint="Kept in this page only and discarded when you leave." optional>
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
      <Dialog open={isOpen} onClose={() => setIsOpen(false)} title="Code for this request" size="wide">
        {code === undefined ? (
          <p className="text-soft">Complete the request first: it needs a model and a prompt.</p>
        ) : (
          <>
            <p className="text-soft">
              The key is read from the environment: <code className="font-mono">export GATEWAY_KEY=sk_svc_…</code>
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
