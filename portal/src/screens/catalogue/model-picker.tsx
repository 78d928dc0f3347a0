import { useId, useState } from "react";
import { usePublic } from "../../api/hooks.ts";
import { LevelBadge } from "../../ui/badge.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import type { PublicModel } from "./catalogue.ts";

const SHOWN_MAX = 6;

/** Searches the catalogue; a click adds the model. */
export function ModelPicker({
  chosen,
  onChoose,
}: {
  readonly chosen: readonly string[];
  readonly onChoose: (id: string) => void;
}) {
  const [text, setText] = useState("");
  const listId = useId();
  const query = useDebounced(text).trim();
  const found = usePublic<{ readonly data: readonly PublicModel[] }>(
    `/v1/public/models?${new URLSearchParams({ q: query, limit: String(SHOWN_MAX + chosen.length) })}`,
    { enabled: query !== "" },
  ).data;
  const rows = (found?.data ?? []).filter(({ id }) => !chosen.includes(id)).slice(0, SHOWN_MAX);
  return (
    <div className="grid gap-2">
      <Field label="Add a model" className="w-full sm:w-96">
        <Input
          type="search"
          value={text}
          placeholder="Name or creator"
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
      <p className="sr-only" role="status">
        {query === "" || found === undefined ? "" : `${rows.length} models found`}
      </p>
      {query !== "" && found !== undefined && (
        <ul id={listId} aria-label="Models found" className="flex flex-wrap gap-2">
          {rows.map(({ id, name, levels }) => (
            <li key={id}>
              <button
                type="button"
                onClick={() => {
                  setText("");
                  onChoose(id);
                }}
                className="flex items-center gap-2 rounded-md border bg-card px-3 py-1.5 hover:bg-hover"
              >
                {name}
                {levels[0] !== undefined && <LevelBadge level={levels[0]} />}
              </button>
            </li>
          ))}
          {rows.length === 0 && <li className="text-soft">No models match.</li>}
        </ul>
      )}
    </div>
  );
}
