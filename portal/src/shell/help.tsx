import { Dialog } from "../ui/dialog.tsx";
import { GO_KEYS } from "./shortcuts.ts";

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [["Ctrl", "K"], "Search and commands (⌘ K on Apple keyboards)"],
  [["?"], "This page"],
  [["Esc"], "Close what is open"],
  ...Object.entries(GO_KEYS).map(([key, { title }]) => [["g", key], `Go to ${title}`] as const),
];

export function Help({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog open={isOpen} onClose={onClose} title="Help and shortcuts">
      <dl className="grid grid-cols-[max-content_1fr] items-center gap-x-5 gap-y-2">
        {KEYS.map(([keys, does]) => (
          <div key={does} className="contents">
            <dt className="flex gap-1">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="min-w-6 rounded-sm border border-line-strong/60 bg-sunken px-1.5 text-center font-mono text-xs leading-5"
                >
                  {key}
                </kbd>
              ))}
            </dt>
            <dd className="text-soft">{does}</dd>
          </div>
        ))}
      </dl>
      <p className="text-soft">
        Everything here is also in the API: each screen has a button that shows its calls. Read{" "}
        <a href="/docs" className="text-accent underline">
          the API reference
        </a>
        .
      </p>
    </Dialog>
  );
}
