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
import { at } from "./fold.ts";
import type { Run } from "./run.ts";
import { Vectors } from "./vectors.tsx";

/** What came back, in the form that its surface has. */
export function AnswerView({
  draft,
  run,
  prompt,
}: {
  readonly draft: Draft;
  readonly run: Run;
  readonly prompt: string;
}) {
  const isEmpty = run.state === "idle" && draft.turns.length === 0;
  return (
    <div className="grid min-w-0 content-start gap-4">
      {isEmpty && (
        <EmptyState
          icon="play"
          title="The answer appears here"
          hint="Write something and send it. The request is real: it is routed, logged and paid for."
        />
      )}
      {isChat(draft.surface) ? (
        <Conversation draft={draft} run={run} prompt={prompt} />
      ) : (
        <Other draft={draft} run={run} />
      )}
      {run.state === "stopped" && <Badge tone="warn">stopped</Badge>}
      <ErrorNote error={run.error} />
    </div>
  );
}

function Conversation({ draft, run, prompt }: { readonly draft: Draft; readonly run: Run; readonly prompt: string }) {
  const { answer, state } = run;
  const isKept = draft.turns.at(-1)?.text === answer.text && answer.text !== "";
  const open: Turn[] = state === "idle" || isKept ? [] : [{ role: "user", text: prompt }];
  return (
    <div className="grid gap-4" role="log" aria-label="Conversation" aria-busy={state === "running"}>
      {[...draft.turns, ...open].map((turn, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only ever added at the end
        <Said key={index} turn={turn} />
      ))}
      {answer.thoughts !== "" && (
        <details className="rounded-md border px-3 py-2">
          <summary className="min-h-6 cursor-pointer text-soft">Thoughts</summary>
          <p className="mt-2 whitespace-pre-wrap text-soft [overflow-wrap:anywhere]">{answer.thoughts}</p>
        </details>
      )}
      {state !== "idle" && !isKept && answer.text !== "" && <Said turn={{ role: "assistant", text: answer.text }} />}
      {state === "running" && (
        <p className="flex items-center gap-2 text-soft">
          <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-accent" />
          {answer.text === "" ? "Waiting for the first word" : "Writing"}
        </p>
      )}
      {answer.calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are only ever added at the end
        <div key={index} className="grid gap-1">
          <p className="label-mark">Calls the tool {call.name}</p>
          <CodeBlock code={pretty(call.input)} label={`Input of ${call.name}`} />
        </div>
      ))}
    </div>
  );
}

function Said({ turn: { role, text } }: { readonly turn: Turn }) {
  const isUser = role === "user";
  return (
    <div
      className={isUser ? "ml-auto max-w-[85%] rounded-lg bg-accent-soft px-3.5 py-2" : "group grid max-w-full gap-1"}
    >
      <p className="sr-only">{isUser ? "You" : "The model"}</p>
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>
      {!isUser && (
        <p>
          <CopyButton text={text} label="Copy the answer" />
        </p>
      )}
    </div>
  );
}

function Other({ draft, run }: { readonly draft: Draft; readonly run: Run }) {
  if (run.state === "running") return <p className="text-soft">Waiting for the answer</p>;
  if (run.audio !== null) return <Spoken url={run.audio.url} format={run.audio.format} />;
  if (run.body === null) return null;
  if (draft.surface === "embeddings") return <Vectors body={run.body} />;
  if (draft.surface === "decisions") return <Decisions body={run.body} />;
  return (
    <div className="grid gap-1">
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{run.answer.text || "The recording has no words."}</p>
      <p>
        <CopyButton text={run.answer.text} label="Copy the transcript" />
      </p>
    </div>
  );
}

const UNPLAYABLE = ["pcm"];

function Spoken({ url, format }: { readonly url: string; readonly format: string }) {
  return (
    <div className="grid justify-items-start gap-3">
      {UNPLAYABLE.includes(format) ? (
        <p className="text-soft">Browsers cannot play raw samples: save the file, or choose another format.</p>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: its words stand on the left
        <audio controls src={url} className="w-full" aria-label="The speech" />
      )}
      <a href={url} download={`speech.${format}`} className={buttonClass("plain", "small")}>
        <Icon name="download" className="size-3.5" />
        Save speech.{format}
      </a>
    </div>
  );
}

function Decisions({ body }: { readonly body: unknown }) {
  const answers = at(body, "answers");
  if (typeof answers !== "object" || answers === null)
    return <CodeBlock code={pretty(JSON.stringify(body))} label="Answer" />;
  return (
    <dl className="grid gap-4">
      {Object.entries(answers).map(([name, answer]) => (
        <div key={name} className="grid gap-1.5 rounded-md border px-4 py-3">
          <dt className="font-mono text-[0.8125rem] font-semibold">{name}</dt>
          <dd className="grid gap-1.5">
            <Decided name={name} answer={answer} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const percent = (share: unknown) => percentText(Math.round(Number(share) * 100) / 100);

function Decided({ name, answer }: { readonly name: string; readonly answer: unknown }) {
  const type = at(answer, "type");
  if (type === "noul")
    return (
      <>
        <span>yes with {percent(at(answer, "noul"))}</span>
        <Progress share={Number(at(answer, "noul"))} label={`${name}: probability of yes`} />
      </>
    );
  if (type === "choice")
    return (
      <>
        <span>
          <strong>{String(at(answer, "choice"))}</strong>, confidence {percent(at(answer, "confidence"))}
        </span>
        <Progress share={Number(at(answer, "confidence"))} label={`${name}: confidence`} />
      </>
    );
  const probabilities = at(answer, "probabilities");
  const rows = typeof probabilities === "object" && probabilities !== null ? Object.entries(probabilities) : [];
  return (
    <>
      <span>score {String(at(answer, "score"))}</span>
      {rows.map(([level, share]) => (
        <span key={level} className="grid grid-cols-[minmax(0,8rem)_1fr_3rem] items-center gap-2 text-xs">
          <span className="truncate">{String(at(answer, "legend", level) ?? level)}</span>
          <Progress share={Number(share)} label={`${name}: probability of level ${level}`} />
          <span className="figures text-right text-soft">{percent(share)}</span>
        </span>
      ))}
    </>
  );
}

/** JSON that can be read; what is none stays as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
