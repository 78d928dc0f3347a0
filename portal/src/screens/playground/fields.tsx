import { useEffect, useId, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Field, Input, type Option, Select, Switch, Textarea } from "../../ui/field.tsx";
import { Attachments } from "./attachments.tsx";
import { type Content, type Draft, isChat, SCHEMA_EXAMPLE, type SettingName, toolExample } from "./draft.ts";
import type { Problem } from "./use-playground.ts";

export type FormProps = {
  readonly draft: Draft;
  readonly write: (change: Partial<Content>) => void;
  readonly change: (name: SettingName, value: string) => void;
  readonly setStream: (isOn: boolean) => void;
  readonly problem: Problem | undefined;
  /** Whether a selected model supports reasoning effort, or may do so. */
  readonly hasEffort: boolean;
};

const fieldError = ({ problem }: FormProps, name: string) => (problem?.at === name ? problem.message : undefined);

export function ChatForm(props: FormProps) {
  const { draft, write } = props;
  return (
    <>
      <Field label="System prompt" optional>
        <Textarea
          rows={2}
          value={draft.system}
          onChange={(event) => write({ system: event.target.value })}
          placeholder="Instructions for the model"
        />
      </Field>
      <Field label={draft.turns.length === 0 ? "Prompt" : "Next message"} error={fieldError(props, "prompt")}>
        <Textarea
          rows={4}
          value={draft.prompt}
          onChange={(event) => write({ prompt: event.target.value })}
          placeholder="Enter a prompt. Press Ctrl+Enter to send."
        />
      </Field>
      <Attachments draft={draft} write={write} />
    </>
  );
}

/** Parameters, tools and response format of chat surfaces. */
export function ChatParameters(props: FormProps) {
  const { draft, hasEffort } = props;
  const { surface } = draft;
  return (
    <>
      <fieldset className="grid gap-3 rounded-md border px-3 pt-2 pb-3">
        <legend className="px-1 font-medium text-soft">Parameters</legend>
        <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
          <NumberField {...props} name="temperature" label="Temperature" placeholder="Default" />
          <NumberField {...props} name="max_tokens" label="Max output tokens" placeholder="Default" />
          <NumberField {...props} name="top_p" label="Top-p" placeholder="Default" />
          {surface === "chat" && <NumberField {...props} name="seed" label="Seed" placeholder="None" />}
          {(hasEffort || draft.effort !== "") && (
            <ChoiceField {...props} name="effort" label="Reasoning effort" options={EFFORTS} />
          )}
        </div>
        {surface !== "responses" && <StopField {...props} />}
        <Switch label="Stream" hint="Show tokens as they arrive." checked={draft.stream} onChange={props.setStream} />
      </fieldset>
      <ToolsAndSchema {...props} />
    </>
  );
}

function StopField({ draft, change }: FormProps) {
  return (
    <Field label="Stop sequences" hint={"One per line. \\n is a newline."} optional>
      <Textarea
        mono
        rows={1}
        value={draft.stop}
        onChange={(event) => change("stop", event.target.value)}
        spellCheck={false}
      />
    </Field>
  );
}

function ToolsAndSchema(props: FormProps) {
  const { draft, write } = props;
  return (
    <Disclosure label="Tools and JSON schema" isOpen={draft.tools !== "" || draft.schema !== ""}>
      <Field
        label="Tools"
        hint="A JSON array in the format of this surface."
        error={fieldError(props, "tools")}
        optional
      >
        <Textarea
          mono
          rows={5}
          value={draft.tools}
          onChange={(event) => write({ tools: event.target.value })}
          spellCheck={false}
        />
      </Field>
      <Field
        label="Response schema"
        hint="A JSON Schema that the response must match."
        error={fieldError(props, "schema")}
        optional
      >
        <Textarea
          mono
          rows={5}
          value={draft.schema}
          onChange={(event) => write({ schema: event.target.value })}
          spellCheck={false}
        />
      </Field>
      <div className="flex flex-wrap gap-2">
        <Button size="small" onClick={() => isChat(draft.surface) && write({ tools: toolExample(draft.surface) })}>
          Insert example tool
        </Button>
        <Button size="small" onClick={() => write({ schema: SCHEMA_EXAMPLE })}>
          Insert example schema
        </Button>
      </div>
    </Disclosure>
  );
}

const EFFORTS: readonly Option[] = [
  { value: "", label: "Default" },
  ...["low", "medium", "high"].map((value) => ({ value, label: value })),
];

export function EmbeddingsForm(props: FormProps) {
  const { draft, write } = props;
  return (
    <>
      <Field label="Texts" hint="One embedding per line." error={fieldError(props, "prompt")}>
        <Textarea
          rows={6}
          value={draft.prompt}
          onChange={(event) => write({ prompt: event.target.value })}
          placeholder={"A house by the sea\nA cottage at the coast\nQuarterly tax return"}
        />
      </Field>
      <NumberField {...props} name="dimensions" label="Dimensions" placeholder="Default" />
    </>
  );
}

export function ModerationsForm(props: FormProps) {
  const { draft, write } = props;
  return (
    <>
      <Field label="Text" error={fieldError(props, "prompt")}>
        <Textarea
          rows={4}
          value={draft.prompt}
          onChange={(event) => write({ prompt: event.target.value })}
          placeholder="The text to judge"
        />
      </Field>
      <Attachments draft={draft} write={write} />
    </>
  );
}

const SIZES: readonly Option[] = [
  { value: "", label: "Default" },
  ...["512x512", "1024x1024", "1536x1024", "1024x1536"].map((value) => ({ value, label: value.replace("x", " × ") })),
];

export function ImagesForm(props: FormProps) {
  const { draft, write, change } = props;
  return (
    <>
      <Field label="Prompt" error={fieldError(props, "prompt")}>
        <Textarea
          rows={4}
          value={draft.prompt}
          onChange={(event) => write({ prompt: event.target.value })}
          placeholder="A siamese cat on a windowsill, watercolour"
        />
      </Field>
      <Field label="Size" hint="A model that does not generate this size refuses the request.">
        <Select options={SIZES} value={draft.size} onChange={(event) => change("size", event.target.value)} />
      </Field>
    </>
  );
}

export function RerankForm(props: FormProps) {
  const { draft, write } = props;
  return (
    <>
      <Field label="Query" error={fieldError(props, "instructions")}>
        <Input value={draft.instructions} onChange={(event) => write({ instructions: event.target.value })} />
      </Field>
      <Field label="Documents" hint="One document per line." error={fieldError(props, "prompt")}>
        <Textarea
          rows={6}
          value={draft.prompt}
          onChange={(event) => write({ prompt: event.target.value })}
          placeholder={"Cats purr when they are content.\nA dog barks at strangers."}
        />
      </Field>
    </>
  );
}

const AUDIO: readonly Option[] = ["mp3", "wav", "opus", "aac", "flac", "pcm"].map((value) => ({
  value: value === "mp3" ? "" : value,
  label: value,
}));

export function SpeechForm({ voices, ...props }: FormProps & { readonly voices: readonly string[] }) {
  const { draft, write, change } = props;
  const id = useId();
  return (
    <>
      <Field label="Text to speak" error={fieldError(props, "prompt")}>
        <Textarea
          rows={5}
          value={draft.prompt}
          onChange={(event) => write({ prompt: event.target.value })}
          placeholder="Good morning! The train leaves at nine."
        />
      </Field>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
        <Field label="Voice">
          <Input
            list={`${id}-voices`}
            value={draft.voice}
            onChange={(event) => change("voice", event.target.value)}
            placeholder="First available"
          />
        </Field>
        <datalist id={`${id}-voices`}>
          {voices.map((voice) => (
            <option key={voice} value={voice} />
          ))}
        </datalist>
        <ChoiceField {...props} name="format" label="Format" options={AUDIO} />
        <NumberField {...props} name="speed" label="Speed" placeholder="1" />
      </div>
      <Field label="Instructions" hint="Tone, pace and accent, for models that support them." optional>
        <Input value={draft.instructions} onChange={(event) => write({ instructions: event.target.value })} />
      </Field>
    </>
  );
}

const TRANSCRIPTS: readonly Option[] = [
  { value: "", label: "json" },
  ...["text", "srt", "vtt", "verbose_json"].map((value) => ({ value, label: value })),
];

export function TranscriptionForm({
  file,
  setFile,
  ...props
}: FormProps & { readonly file: File | null; readonly setFile: (file: File | null) => void }) {
  const { draft, write, change } = props;
  return (
    <>
      <Field label="Audio file" hint="Sent with the request and not stored." error={fieldError(props, "file")}>
        <Input
          type="file"
          accept="audio/*,video/mp4,video/webm"
          onChange={(event) => setFile(event.target.files?.[0] ?? null)}
          className="py-1.5"
        />
      </Field>
      {file !== null && <FilePlayer file={file} />}
      <div className="grid grid-cols-2 gap-3">
        <Field label="Language" optional>
          <Input value={draft.language} onChange={(event) => change("language", event.target.value)} placeholder="en" />
        </Field>
        <ChoiceField {...props} name="format" label="Format" options={TRANSCRIPTS} />
      </div>
      <Field label="Prompt" hint="Names and terms that occur in the recording." optional>
        <Input value={draft.prompt} onChange={(event) => write({ prompt: event.target.value })} />
      </Field>
    </>
  );
}

function FilePlayer({ file }: { readonly file: File }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return (
    // biome-ignore lint/a11y/useMediaCaption: it is the reader's own recording, and the transcript is the result
    <audio controls src={url} className="w-full" aria-label={`Audio file ${file.name}`} />
  );
}

export function DecisionsForm(props: FormProps) {
  const { draft, write } = props;
  return (
    <>
      <Field
        label="State"
        hint="The subject of the questions: text or a JSON object."
        error={fieldError(props, "state")}
      >
        <Textarea rows={3} value={draft.state} onChange={(event) => write({ state: event.target.value })} />
      </Field>
      <Field
        label="Questions"
        hint="Named questions of type noul (yes or no), choice or score."
        error={fieldError(props, "questions")}
      >
        <Textarea
          mono
          rows={12}
          value={draft.questions}
          onChange={(event) => write({ questions: event.target.value })}
          spellCheck={false}
        />
      </Field>
      <Attachments draft={draft} write={write} imagesOnly />
    </>
  );
}

function NumberField({
  name,
  label,
  placeholder,
  ...props
}: FormProps & { readonly name: SettingName; readonly label: string; readonly placeholder: string }) {
  return (
    <Field label={label} error={fieldError(props, name)}>
      <Input
        inputMode="decimal"
        value={props.draft[name]}
        onChange={(event) => props.change(name, event.target.value)}
        placeholder={placeholder}
      />
    </Field>
  );
}

function ChoiceField({
  name,
  label,
  options,
  ...props
}: FormProps & { readonly name: SettingName; readonly label: string; readonly options: readonly Option[] }) {
  return (
    <Field label={label}>
      <Select
        value={props.draft[name]}
        options={options}
        onChange={(event) => props.change(name, event.target.value)}
      />
    </Field>
  );
}

function Disclosure({
  label,
  isOpen,
  children,
}: {
  readonly label: string;
  readonly isOpen: boolean;
  readonly children: React.ReactNode;
}) {
  return (
    <details open={isOpen} className="rounded-md border px-3 py-2">
      <summary className="min-h-6 cursor-pointer font-medium text-soft hover:text-ink">{label}</summary>
      <div className="mt-3 grid gap-3 pb-1">{children}</div>
    </details>
  );
}
