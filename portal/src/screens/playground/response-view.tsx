import { percentText } from "../../format/number.ts";
import { Badge } from "../../ui/badge.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Progress } from "../../ui/layout.tsx";
import { type Draft, isChat, type Turn } from "./draft.ts";
import { valueAt } from "./model-reply.ts";
import { Pictures } from "./pictures.tsx";
import { Ranking } from "./ranking.tsx";
import type { PlaygroundRun } from "./run.ts";
import { Vectors } from "./vectors.tsx";
import { Verdicts } from "./verdicts.tsx";

/** The model's response, rendered by surface. */
export function ResponseView({ draft, run }: { readonly draft: Draft; readonly run: PlaygroundRun }) {
  const isEmpty = run.state === "idle" && draft.turns.length === 0;
  return (
    <div className="grid min-w-0 content-start gap-4">
      {isEmpty && (
        <EmptyState
          icon="play"
          title="No response yet"
          hint="Enter a prompt and send it. Requests are real: they are routed, logged and charged."
        />
      )}
      {isChat(draft.surface) ? <Conversation draft={draft} run={run} /> : <NonChatResponse draft={draft} run={run} />}
      {run.state === "stopped" && <Badge tone="warn">Stopped</Badge>}
      <ErrorNote error={run.error} />
    </div>
  );
}

function Conversation({ draft, run }: { readonly draft: Draft; readonly run: PlaygroundRun }) {
  const { reply, state, sent } = run;
  const isInConversation = draft.turns.at(-1)?.text === reply.text && reply.text !== "";
  const pendingTurns: Turn[] = state === "idle" || isInConversation ? [] : [{ role: "user", text: sent?.prompt ?? "" }];
  return (
    <div className="grid gap-4" role="log" aria-label="Conversation" aria-busy={state === "running"}>
      {[...draft.turns, ...pendingTurns].map((turn, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end
        <Message key={index} turn={turn} />
      ))}
      {reply.reasoning !== "" && (
        <details className="rounded-md border px-3 py-2">
          <summary className="min-h-6 cursor-pointer text-soft">Reasoning</summary>
          <p className="mt-2 whitespace-pre-wrap text-soft [overflow-wrap:anywhere]">{reply.reasoning}</p>
        </details>
      )}
      {state !== "idle" && !isInConversation && reply.text !== "" && (
        <Message turn={{ role: "assistant", text: reply.text }} />
      )}
      {state === "running" && (
        <p className="flex items-center gap-2 text-soft">
          <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-accent" />
          {reply.text === "" ? "Waiting for the first token" : "Streaming"}
        </p>
      )}
      {reply.calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are only ever added at the end
        <div key={index} className="grid gap-1">
          <p className="label-mark">Tool call: {call.name}</p>
          <CodeBlock code={prettyJson(call.input)} label={`Input for ${call.name}`} />
        </div>
      ))}
    </div>
  );
}

function Message({ turn: { role, text } }: { readonly turn: Turn }) {
  const isUser = role === "user";
  return (
    <div
      className={isUser ? "ml-auto max-w-[85%] rounded-lg bg-accent-soft px-3.5 py-2" : "group grid max-w-full gap-1"}
    >
      <p className="sr-only">{isUser ? "You" : "Model"}</p>
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>
      {!isUser && (
        <p>
          <CopyButton text={text} label="Copy response" />
        </p>
      )}
    </div>
  );
}

function NonChatResponse({ draft, run }: { readonly draft: Draft; readonly run: PlaygroundRun }) {
  if (run.state === "running") return <p className="text-soft">Waiting for the response</p>;
  if (run.audio !== null) return <AudioPlayer url={run.audio.url} format={run.audio.format} />;
  if (run.body === null) return null;
  if (draft.surface === "embeddings") return <Vectors body={run.body} />;
  if (draft.surface === "rerank") return <Ranking body={run.body} />;
  if (draft.surface === "moderations") return <Verdicts body={run.body} />;
  if (draft.surface === "images") return <Pictures body={run.body} />;
  if (draft.surface === "decisions") return <Decisions body={run.body} />;
  return (
    <div className="grid gap-1">
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{run.reply.text || "No speech detected."}</p>
      <p>
        <CopyButton text={run.reply.text} label="Copy transcript" />
      </p>
    </div>
  );
}

const UNPLAYABLE = ["pcm"];

function AudioPlayer({ url, format }: { readonly url: string; readonly format: string }) {
  return (
    <div className="grid justify-items-start gap-3">
      {UNPLAYABLE.includes(format) ? (
        <p className="text-soft">Browsers can't play raw PCM audio. Download the file or choose another format.</p>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: the text is in the form on the left
        <audio controls src={url} className="w-full" aria-label="Generated speech" />
      )}
      <a href={url} download={`speech.${format}`} className={buttonClass("plain", "small")}>
        <Icon name="download" className="size-3.5" />
        Download speech.{format}
      </a>
    </div>
  );
}

function Decisions({ body }: { readonly body: unknown }) {
  const answers = valueAt(body, "answers");
  if (typeof answers !== "object" || answers === null)
    return <CodeBlock code={prettyJson(JSON.stringify(body))} label="Response" />;
  return (
    <dl className="grid gap-4">
      {Object.entries(answers).map(([name, answer]) => (
        <div key={name} className="grid gap-1.5 rounded-md border px-4 py-3">
          <dt className="font-mono text-[0.8125rem] font-semibold">{name}</dt>
          <dd className="grid gap-1.5">
            <DecisionAnswer name={name} answer={answer} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const percent = (share: unknown) => percentText(Math.round(Number(share) * 100) / 100);

function DecisionAnswer({ name, answer }: { readonly name: string; readonly answer: unknown }) {
  const type = valueAt(answer, "type");
  if (type === "noul")
    return (
      <>
        <span>Probability of yes: {percent(valueAt(answer, "noul"))}</span>
        <Progress share={Number(valueAt(answer, "noul"))} label={`${name}: probability of yes`} />
      </>
    );
  if (type === "choice")
    return (
      <>
        <span>
          <strong>{String(valueAt(answer, "choice"))}</strong>, confidence {percent(valueAt(answer, "confidence"))}
        </span>
        <Progress share={Number(valueAt(answer, "confidence"))} label={`${name}: confidence`} />
      </>
    );
  const probabilities = valueAt(answer, "probabilities");
  const rows = typeof probabilities === "object" && probabilities !== null ? Object.entries(probabilities) : [];
  return (
    <>
      <span>Score: {String(valueAt(answer, "score"))}</span>
      {rows.map(([level, share]) => (
        <span key={level} className="grid grid-cols-[minmax(0,8rem)_1fr_3rem] items-center gap-2 text-xs">
          <span className="truncate">{String(valueAt(answer, "legend", level) ?? level)}</span>
          <Progress share={Number(share)} label={`${name}: probability of level ${level}`} />
          <span className="figures text-right text-soft">{percent(share)}</span>
        </span>
      ))}
    </>
  );
}

/** Indents JSON; other text stays unchanged. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
