import { useState } from "react";
import { usePreview } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { Badge, LevelBadge, type Tone } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { ErrorNote } from "../../ui/error-state.tsx";
import { Field, Textarea } from "../../ui/field.tsx";
import { Card } from "../../ui/layout.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import { useWorkspace } from "../../url-state.ts";
import { type ClassRules, groupsOf, type LevelGroup, segmentsOf, type Trial } from "./class-rules.ts";
import type { Preview } from "./policy-draft.ts";

const EXAMPLE = "Write to jane.doe@mail.example.eu about IBAN DE89 3704 0044 0532 0130 00.";
const MARKS: Readonly<Record<string, string>> = { personal: "bg-warn-soft text-warn", secret: "bg-bad-soft text-bad" };
const OTHER_MARK = "bg-info-soft text-info";

/** Tries the rules of the draft on a text, which leaves this page for the gateway only and is not stored. */
export function ClassTrial({ rules }: { readonly rules: ClassRules }) {
  const { workspace } = useWorkspace();
  const [text, setText] = useState(EXAMPLE);
  const tried = useDebounced({ text, data_classes: rules });
  const params = { workspace };
  const trial = usePreview("manageTryDataClasses", { params, body: tried }, { enabled: tried.text !== "" });
  const endpoints = usePreview("managePreviewPolicy", { params, query: { scope: "callable" }, body: {} });
  const isUpToDate = !trial.isPlaceholderData && !trial.isFetching && tried.text === text;
  return (
    <Card title="Try a text" about="The text is not stored, and no provider receives it.">
      <div className="grid gap-4">
        <Field label="Text" hideLabel>
          <Textarea rows={4} maxLength={100_000} value={text} onChange={({ target }) => setText(target.value)} />
        </Field>
        <ErrorNote error={trial.error} />
        {trial.data !== undefined && text !== "" && (
          <div aria-busy={!isUpToDate} className={cx("grid gap-4 transition-opacity", !isUpToDate && "opacity-60")}>
            <Findings text={tried.text} trial={trial.data} />
            <Received trial={trial.data} models={endpoints.data?.models ?? []} />
          </div>
        )}
      </div>
    </Card>
  );
}

function Findings({ text, trial }: { readonly text: string; readonly trial: Trial }) {
  const counts = Object.entries(trial.counts);
  return (
    <section aria-label="Findings" className="grid gap-2">
      <p role="status" className="label-mark">
        {counts.length === 0 ? "Nothing found" : counts.map(([name, count]) => `${name} ${count}`).join(" · ")}
      </p>
      <p className="max-h-56 overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-[0.8125rem] break-words whitespace-pre-wrap">
        {segmentsOf(text, trial.findings).map(({ at, text: part, finding }) =>
          finding === undefined ? (
            part
          ) : (
            <mark
              key={at}
              title={`${finding.label}, ${finding.class}`}
              className={cx("rounded-sm px-0.5", MARKS[finding.class] ?? OTHER_MARK)}
            >
              {part}
              <span className="ml-1 text-[0.625rem] font-semibold">{finding.label}</span>
            </mark>
          ),
        )}
      </p>
    </section>
  );
}

function Received({ trial, models }: { readonly trial: Trial; readonly models: Preview["models"] }) {
  return (
    <section aria-label="What endpoints receive" className="grid gap-2">
      <h3 className="label-mark">What endpoints receive</h3>
      <ul className="grid gap-3">
        {groupsOf(trial.levels).map((group) => (
          <li key={group.levels.join()} className="grid gap-1.5 rounded-md border px-3 py-2">
            <div className="flex flex-wrap items-center gap-1.5">
              {group.levels.map((level) => (
                <LevelBadge key={level} level={level} />
              ))}
              <Badge tone={toneOf(group)}>{actionText(group)}</Badge>
            </div>
            <p className="text-xs text-soft">{endpointsText(models, group.levels)}</p>
            {group.text === null ? (
              <p className="text-xs break-words">{group.reason}</p>
            ) : (
              <p className="max-h-40 overflow-auto font-mono text-xs break-words whitespace-pre-wrap">{group.text}</p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function toneOf({ allowed, action }: LevelGroup): Tone {
  if (!allowed) return "bad";
  return action === "none" ? "neutral" : "good";
}

function actionText({ allowed, action }: LevelGroup): string {
  if (!allowed) return "Excluded";
  return action === "none" || action === null ? "Unchanged" : `${action[0]?.toUpperCase()}${action.slice(1)}`;
}

const PROVIDERS_MAX = 4;

/** Those that the saved policy allows and that can be called now. */
function endpointsText(models: Preview["models"], levels: readonly string[]): string {
  const candidates = models.flatMap(({ endpoints }) =>
    endpoints.filter(({ level, after }) => after && levels.includes(level)),
  );
  if (candidates.length === 0) return "No available endpoint";
  const providers = [...new Set(candidates.map(({ provider }) => provider))];
  const more = providers.length > PROVIDERS_MAX ? " and others" : "";
  return `${counted(candidates.length, "endpoint")}: ${providers.slice(0, PROVIDERS_MAX).join(", ")}${more}`;
}
