import { type KeyboardEvent, type SyntheticEvent, useEffect, useRef } from "react";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Card, PageHeader, Stack } from "../../ui/layout.tsx";
import { TabSet } from "../../ui/tabs.tsx";
import { CodeButton } from "./code-dialog.tsx";
import { type Draft, isChat, SURFACES } from "./draft.ts";
import {
  ChatForm,
  ChatParameters,
  DecisionsForm,
  EmbeddingsForm,
  type FormProps,
  ImagesForm,
  ModerationsForm,
  RerankForm,
  SpeechForm,
  TranscriptionForm,
} from "./fields.tsx";
import { KeySection } from "./key-section.tsx";
import { ModelFields } from "./model-fields.tsx";
import { PromptsButton, SavePromptButton } from "./prompt-drawer.tsx";
import { RawResponse, Receipt } from "./receipt.tsx";
import { ResponseView } from "./response-view.tsx";
import { IDLE_RUN } from "./run.ts";
import { type Playground, usePlayground } from "./use-playground.ts";

/** Columns next to each other where they fit; below each other on phones. */
const COLUMN_CLASSES: Readonly<Record<number, string>> = {
  2: "md:grid-cols-2",
  3: "md:grid-cols-2 xl:grid-cols-3",
  4: "md:grid-cols-2 2xl:grid-cols-4",
};

export function Screen() {
  const playground = usePlayground();
  const { drafts, columns } = playground;
  const isComparing = drafts.length > 1;
  const sent = columns.runs.flatMap((run) => run.sent ?? []);
  const responses = useRef<HTMLDivElement>(null);
  // The columns are below the form.
  useEffect(() => {
    if (isComparing && columns.isRunning) responses.current?.scrollIntoView({ block: "start" });
  }, [isComparing, columns.isRunning]);
  return (
    <>
      <PageHeader
        title="Playground"
        about="Send real requests within your limits. The link contains the models and settings, never your content."
        actions={
          <>
            <CopyButton text={location.href} label="Copy link to these settings">
              Copy link
            </CopyButton>
            <PromptsButton prompts={playground.prompts} onRestore={playground.restore} />
            <CodeButton drafts={drafts} sent={sent} fileName={playground.file?.name ?? "audio.wav"} />
          </>
        }
      />
      <TabSet
        tabs={SURFACES}
        label="Surface"
        chosen={playground.draft.surface}
        choose={playground.switchSurface}
        className="grid gap-5"
        panelClassName={cx("grid min-w-0 items-start gap-5", !isComparing && "lg:grid-cols-2")}
      >
        <Card>
          <RequestForm playground={playground} />
        </Card>
        <div
          ref={responses}
          className={cx("grid min-w-0 scroll-mt-20 items-start gap-5", COLUMN_CLASSES[drafts.length])}
        >
          {drafts.map((draft, column) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a column is its position
            <ResponseColumn key={column} playground={playground} draft={draft} column={column} />
          ))}
        </div>
      </TabSet>
    </>
  );
}

/** Response and receipt of one model. */
function ResponseColumn({
  playground,
  draft,
  column,
}: {
  readonly playground: Playground;
  readonly draft: Draft;
  readonly column: number;
}) {
  const run = playground.columns.runs[column] ?? IDLE_RUN;
  const isComparing = playground.drafts.length > 1;
  return (
    <section aria-label={`Response of ${draft.model}`} className="min-w-0">
      <Stack>
        <Card
          title={isComparing ? <span className="font-mono break-all">{draft.model}</span> : "Response"}
          actions={
            run.error !== null ? (
              <Button size="small" icon="refresh" onClick={() => playground.retry(column)}>
                Retry
              </Button>
            ) : undefined
          }
        >
          <ResponseView draft={draft} run={run} />
        </Card>
        <Receipt run={run} requestPath={(id) => playground.at(`requests/${encodeURIComponent(id)}`)} />
        <RawResponse run={run} />
      </Stack>
    </section>
  );
}

function RequestForm({ playground }: { readonly playground: Playground }) {
  const { draft, write, url, keys, columns, problem } = playground;
  const { change, setStream } = url;
  const form: FormProps = { draft, write, change, setStream, problem, hasEffort: supportsEffort(playground) };
  const isComparing = playground.drafts.length > 1;
  return (
    <SendForm onSend={() => void playground.send()}>
      <div className={cx("grid items-start gap-4", isComparing && "lg:grid-cols-2 lg:gap-x-6")}>
        <div className="grid min-w-0 gap-4">
          <ModelFields playground={playground} />
          <SurfaceForm form={form} voices={columns.voices} file={playground.file} setFile={playground.setFile} />
          <Actions playground={playground} />
        </div>
        <div className="grid min-w-0 gap-4">
          {isChat(draft.surface) && <ChatParameters {...form} />}
          <KeySection keys={keys} environment={url.environment} setEnvironment={url.setEnvironment} />
        </div>
      </div>
    </SendForm>
  );
}

function Actions({ playground }: { readonly playground: Playground }) {
  const { columns, drafts, unavailable } = playground;
  const hasConversation = columns.conversations.some((turns) => turns.length > 0);
  return (
    <div className="flex flex-wrap items-center gap-2">
      {/* Two buttons: a single one would become a submit button before its click event ends. */}
      {columns.isRunning ? (
        <Button key="stop" variant="danger" icon="close" onClick={columns.stop}>
          {drafts.length > 1 ? "Stop all" : "Stop"}
        </Button>
      ) : (
        <Button key="send" type="submit" variant="primary" icon="play" disabled={unavailable.length > 0}>
          Send
        </Button>
      )}
      <SavePromptButton prompts={playground.prompts} prompt={playground.prompt} />
      {hasConversation && (
        <Button variant="quiet" onClick={playground.restart}>
          New conversation
        </Button>
      )}
    </div>
  );
}

/** Routers and models outside the catalogue may support it. */
function supportsEffort({ models, options }: Playground): boolean {
  return models.some((id) => {
    const model = options.find(({ value }) => value === id)?.model;
    return model === undefined || model.capabilities.includes("reasoning_control");
  });
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
    case "rerank":
      return <RerankForm {...form} />;
    case "moderations":
      return <ModerationsForm {...form} />;
    case "images":
      return <ImagesForm {...form} />;
    case "speech":
      return <SpeechForm {...form} voices={voices} />;
    case "transcriptions":
      return <TranscriptionForm {...form} file={file} setFile={setFile} />;
    case "decisions":
      return <DecisionsForm {...form} />;
  }
}
