import { type ChangeEvent, useId, useState } from "react";
import { buttonClass, IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { type Attachment, type Content, type Draft, isImage } from "./draft.ts";

const BYTES_MAX = 8_000_000;
const TEXT_BYTES_MAX = 200_000;
const IMAGES = "image/png,image/jpeg,image/webp,image/gif";
const FILES = `${IMAGES},application/pdf,text/*,.md,.csv,.json,.yaml,.yml,.log`;

/** Images and PDF files are sent in the request itself; the content of text files is added to the prompt. */
export function Attachments({
  draft,
  write,
  imagesOnly = false,
}: {
  readonly draft: Draft;
  readonly write: (change: Partial<Content>) => void;
  readonly imagesOnly?: boolean | undefined;
}) {
  const id = useId();
  const [problem, setProblem] = useState("");
  const addFiles = async (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])];
    event.target.value = "";
    setProblem(files.map(problemOf).find((text) => text !== "") ?? "");
    const accepted = files.filter((file) => problemOf(file) === "");
    const texts = await Promise.all(accepted.filter((file) => !isBinary(file)).map(fencedText));
    const attachments = await Promise.all(accepted.filter(isBinary).map(readAttachment));
    write({
      ...(texts.length === 0 ? {} : { prompt: [draft.prompt, ...texts].filter(Boolean).join("\n\n") }),
      attachments: [...draft.attachments, ...attachments],
    });
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      {draft.attachments.map((file) => (
        <span
          key={file.base64.slice(0, 64) + file.name}
          className="inline-flex items-center gap-1.5 rounded-md border bg-card py-0.5 pr-0.5 pl-1.5"
        >
          {isImage(file) ? (
            <img src={`data:${file.type};base64,${file.base64}`} alt="" className="size-6 rounded-sm object-cover" />
          ) : (
            <Icon name="scroll" className="text-soft" />
          )}
          <span className="max-w-40 truncate text-xs">{file.name}</span>
          <IconButton
            icon="close"
            label={`Remove ${file.name}`}
            onClick={() => write({ attachments: draft.attachments.filter((one) => one !== file) })}
            className="size-6!"
          />
        </span>
      ))}
      <input
        id={id}
        type="file"
        accept={imagesOnly ? IMAGES : FILES}
        multiple
        onChange={(event) => void addFiles(event)}
        className="peer sr-only"
      />
      <label
        htmlFor={id}
        className={`${buttonClass("plain", "small")} cursor-pointer peer-focus-visible:outline-2 peer-focus-visible:outline-focus`}
      >
        {imagesOnly ? "Add image" : "Add image or file"}
      </label>
      {problem !== "" && (
        <span role="alert" className="text-xs text-bad">
          {problem}
        </span>
      )}
    </div>
  );
}

function isBinary({ type }: File): boolean {
  return type.startsWith("image/") || type === "application/pdf";
}

/** Empty: the file can be added. */
function problemOf(file: File): string {
  if (isBinary(file)) return file.size > BYTES_MAX ? `${file.name} is larger than 8 MB.` : "";
  return file.size > TEXT_BYTES_MAX ? `${file.name} is larger than 200 kB. Text files are added to the prompt.` : "";
}

async function fencedText(file: File): Promise<string> {
  return `${file.name}:\n\`\`\`\n${(await file.text()).trimEnd()}\n\`\`\``;
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
