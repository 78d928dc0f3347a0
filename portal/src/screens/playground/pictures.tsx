import { buttonClass } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { valueAt } from "./model-reply.ts";

const FORMATS = ["png", "jpeg", "webp"];

/** Generated images, which can be downloaded; they are held in memory only. */
export function Pictures({ body }: { readonly body: unknown }) {
  const data = valueAt(body, "data");
  const stated = String(valueAt(body, "output_format"));
  const format = FORMATS.includes(stated) ? stated : "png";
  return (
    <ul className="grid gap-4">
      {(Array.isArray(data) ? data : []).map((image, index) => {
        const url = `data:image/${format};base64,${String(valueAt(image, "b64_json"))}`;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: images have no other name than their place
          <li key={index} className="grid justify-items-start gap-2">
            <img src={url} alt={`Generated, number ${index + 1}`} className="max-w-full rounded-md border" />
            <a href={url} download={`image-${index + 1}.${format}`} className={buttonClass("plain", "small")}>
              <Icon name="download" className="size-3.5" />
              Download image-{index + 1}.{format}
            </a>
          </li>
        );
      })}
    </ul>
  );
}
