import { type ChangeEvent, useEffect, useId, useState } from "react";
import { Button, buttonClass, IconButton } from "../../ui/button.tsx";
import { Field, Input, type Option, Select, Switch, Textarea } from "../../ui/field.tsx";
import { type Attachment, type Content, type Draft, isChat, SCHEMA_EXAMPLE, toolExample } from "./draft.ts";
import type { SettingName } from "./settings.ts";

export type FormProps = {
  readonly draft: Draft;
  readonly write: (change: Partial<Content>) => void;
  readonly change: (name: SettingName, value: string) => void;
  readonly setStream: (isOn: boolean) => void;
  /** The invalid field and its error message. */
  readonly problem: { readonly at: string; readonly message: string } | undefined;
};

const IMAGE_BYTES_MAX = 8_000_000;

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
      <Images {...props} />
      <Disclosure label="Parameters" isOpen={isAnySet(draft)}>
        <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
          <NumberField {...props} name="max_tokens" label="Max output tokens" placeholder="Default" />
          <NumberField {...props} name="temperature" label="Temperature" placeholder="Default" />
          <NumberField {...props} name="top_p" label="Top-p" placeholder="Default" />
          <ChoiceField {...props} name="effort" label="Reasoning effort" options={EFFORTS} />
        </div>
        <Switch label="Stream" hint="Show tokens as they arrive." checked={draft.stream} onChange={props.setStream} />
      </Disclosure>
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
    </>
  );
}

function isAnySet({ max_tokens, temperature, top_p, effort, stream }: Draft): boolean {
  return !stream || [max_tokens, temperature, top_p, effort].some((value) => value !== "");
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
      <Images {...props} />
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

/** Images are sent as data URLs in the request and not uploaded elsewhere. */
function Images({ draft, write, problem }: FormProps) {
  const id = useId();
  const addFiles = async (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])].filter(({ size }) => size <= IMAGE_BYTES_MAX);
    event.target.value = "";
    const images = await Promise.all(files.map(readAttachment));
    write({ images: [...draft.images, ...images] });
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      {draft.images.map((image) => (
        <span
          key={image.base64.slice(0, 64) + image.name}
          className="inline-flex items-center gap-1.5 rounded-md border bg-card py-0.5 pr-0.5 pl-1.5"
        >
          <img src={`data:${image.type};base64,${image.base64}`} alt="" className="size-6 rounded-sm object-cover" />
          <span className="max-w-40 truncate text-xs">{image.name}</span>
          <IconButton
            icon="close"
            label={`Remove ${image.name}`}
            onClick={() => write({ images: draft.images.filter((one) => one !== image) })}
            className="size-6!"
          />
        </span>
      ))}
      <input
        id={id}
        type="file"
        accept="image/png,image/jpeg,image/webp,image/gif"
        multiple
        onChange={(event) => void addFiles(event)}
        className="peer sr-only"
      />
      <label
        htmlFor={id}
        className={`${buttonClass("plain", "small")} cursor-pointer peer-focus-visible:outline-2 peer-focus-visible:outline-focus`}
      >
        Add image
      </label>
      {problem?.at === "images" && <span className="text-xs text-bad">{problem.message}</span>}
    </div>
  );
}

function readAttachment(file: File): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () =>
      resolve({ name: file.name, type: file.type, base64: String(reader.result).replace(/^data:[^,]*,/, "") });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
