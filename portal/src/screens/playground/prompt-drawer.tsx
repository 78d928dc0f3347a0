import { useState } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { Drawer, FormDialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Switch } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";
import { SURFACES } from "./draft.ts";
import { HISTORY_MAX, type NewPrompt, type StoredPrompt, type usePromptLibrary } from "./prompt-library.ts";

type Prompts = ReturnType<typeof usePromptLibrary>;

/** Saved prompts and history, in a side panel. */
export function PromptsButton({
  prompts,
  onRestore,
}: {
  readonly prompts: Prompts;
  readonly onRestore: (prompt: StoredPrompt) => void;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const { saved, history, isRecording } = prompts.library;
  const restore = (prompt: StoredPrompt) => {
    setIsOpen(false);
    onRestore(prompt);
  };
  return (
    <>
      <Button icon="clock" onClick={() => setIsOpen(true)}>
        Prompts
      </Button>
      <Drawer open={isOpen} onClose={() => setIsOpen(false)} title="Prompts" size="normal">
        <p className="text-soft">
          Stored in this browser only, for you and this workspace. Attachments, keys and responses are not stored.
        </p>
        <section className="grid gap-2" aria-label="Saved prompts">
          <h3 className="font-semibold">Saved</h3>
          {saved.length === 0 ? (
            <p className="text-soft">No saved prompts. Use “Save prompt” below the form.</p>
          ) : (
            <PromptList prompts={saved} onRestore={restore} onRemove={prompts.remove} />
          )}
        </section>
        <section className="grid gap-2" aria-label="History">
          <div className="flex items-center justify-between gap-2">
            <h3 className="font-semibold">History</h3>
            <Button size="small" icon="trash" disabled={history.length === 0} onClick={prompts.clearHistory}>
              Clear history
            </Button>
          </div>
          <Switch
            label="Record history"
            hint={`The last ${HISTORY_MAX} prompts that you sent.`}
            checked={isRecording}
            onChange={prompts.setRecording}
          />
          {history.length === 0 ? (
            <EmptyState icon="clock" title="No history" hint="Prompts appear here once you send them." />
          ) : (
            <PromptList prompts={history} onRestore={restore} onRemove={prompts.remove} />
          )}
        </section>
      </Drawer>
    </>
  );
}

function PromptList({
  prompts,
  onRestore,
  onRemove,
}: {
  readonly prompts: readonly StoredPrompt[];
  readonly onRestore: (prompt: StoredPrompt) => void;
  readonly onRemove: (id: string) => void;
}) {
  return (
    <ul className="grid rounded-md border">
      {prompts.map((prompt) => (
        <li key={prompt.id} className="flex items-center border-b last:border-0">
          <button
            type="button"
            onClick={() => onRestore(prompt)}
            className="grid min-h-11 min-w-0 flex-1 gap-0.5 px-3 py-2 text-left hover:bg-hover"
          >
            <span className="truncate font-medium">{prompt.name || titleOf(prompt)}</span>
            <span className="flex flex-wrap gap-x-2 text-xs text-soft">
              <span>{SURFACES.find(({ id }) => id === prompt.surface)?.label}</span>
              <span className="min-w-0 truncate font-mono">{prompt.models.join(", ")}</span>
              <Time at={prompt.atMs} />
            </span>
          </button>
          <IconButton
            icon="trash"
            label={`Delete ${prompt.name || titleOf(prompt)}`}
            onClick={() => onRemove(prompt.id)}
            className="mr-1"
          />
        </li>
      ))}
    </ul>
  );
}

const TITLE_MAX = 60;

/** The first line of the prompt. */
function titleOf({ surface, content }: Pick<StoredPrompt, "surface" | "content">): string {
  const text = surface === "decisions" ? content.state : content.prompt;
  return text.trim().split("\n")[0]?.slice(0, TITLE_MAX) || "Untitled";
}

export function SavePromptButton({
  prompts,
  prompt,
}: {
  readonly prompts: Prompts;
  readonly prompt: Omit<NewPrompt, "name">;
}) {
  const [name, setName] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const close = () => {
    setName(undefined);
    setProblem(undefined);
  };
  const save = () => {
    const reason = prompts.save({ ...prompt, name: (name ?? "").trim() });
    setProblem(reason);
    if (reason !== undefined) return;
    close();
    toast("Prompt saved in this browser");
  };
  return (
    <>
      <Button variant="quiet" onClick={() => setName(titleOf(prompt))}>
        Save prompt
      </Button>
      <FormDialog
        open={name !== undefined}
        onClose={close}
        title="Save prompt"
        action="Save"
        disabled={name?.trim() === ""}
        onSubmit={save}
        size="small"
      >
        <Field
          label="Name"
          hint="Saves the text, models and parameters in this browser, without attachments."
          error={problem}
        >
          <Input value={name ?? ""} onChange={(event) => setName(event.target.value)} maxLength={80} />
        </Field>
      </FormDialog>
    </>
  );
}
