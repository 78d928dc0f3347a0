import { type DragEvent, useState } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";

type Props = {
  readonly label: string;
  readonly items: readonly string[];
  readonly onChange: (items: readonly string[]) => void;
  readonly empty: string;
};

/** Reorderable by drag and drop or buttons. */
export function OrderedList({ label, items, onChange, empty }: Props) {
  const [dragged, setDragged] = useState<number | undefined>();
  const [announcement, setAnnouncement] = useState("");
  const move = (from: number, to: number) => {
    const item = items[from];
    if (item === undefined || to < 0 || to >= items.length) return;
    onChange(items.toSpliced(from, 1).toSpliced(to, 0, item));
    setAnnouncement(`${item} moved to position ${to + 1}`);
  };
  const over = (event: DragEvent, at: number) => {
    event.preventDefault();
    if (dragged === undefined || dragged === at) return;
    move(dragged, at);
    setDragged(at);
  };
  if (items.length === 0) return <p className="text-soft">{empty}</p>;
  return (
    <>
      <ol aria-label={label} className="grid gap-1">
        {items.map((item, at) => (
          <li
            key={item}
            draggable
            onDragStart={() => setDragged(at)}
            onDragOver={(event) => over(event, at)}
            onDragEnd={() => setDragged(undefined)}
            onDrop={(event) => event.preventDefault()}
            className={cx(
              "flex min-h-9 cursor-grab items-center gap-2 rounded-md border bg-card pr-1 pl-3",
              dragged === at && "opacity-50",
            )}
          >
            <span className="figures w-5 text-xs text-faint">{at + 1}</span>
            <span className="min-w-0 flex-1 truncate">{item}</span>
            <IconButton icon="up" label={`Move ${item} up`} disabled={at === 0} onClick={() => move(at, at - 1)} />
            <IconButton
              icon="down"
              label={`Move ${item} down`}
              disabled={at === items.length - 1}
              onClick={() => move(at, at + 1)}
            />
            <IconButton
              icon="close"
              label={`Remove ${item}`}
              onClick={() => onChange(items.filter((one) => one !== item))}
            />
          </li>
        ))}
      </ol>
      <p role="status" className="sr-only">
        {announcement}
      </p>
    </>
  );
}
