import { Dialog } from "../ui/dialog.tsx";
import { SHORTCUT_SCREENS } from "./shortcuts.ts";

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [["Ctrl", "K"], "Search and commands (⌘K on Mac)"],
  [["?"], "Keyboard shortcuts"],
  [["Esc"], "Close dialog"],
  ...Object.entries(SHORTCUT_SCREENS).map(([key, { title }]) => [["g", key], `Go to ${title}`] as const),
];

export function Help({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog open={isOpen} onClose={onClose} title="Help and shortcuts">
      <dl className="grid grid-cols-[max-content_1fr] items-center gap-x-5 gap-y-2">
        {KEYS.map(([keys, description]) => (
          <div key={description} className="contents">
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
            <dd className="text-soft">{description}</dd>
          </div>
        ))}
      </dl>
      <p className="text-soft">
        Everything in the portal is also available through the API: the API button of each screen shows its calls. See{" "}
        <a href="/docs/guides" className="text-accent underline">
          the guides
        </a>
        ,{" "}
        <a href="/docs" className="text-accent underline">
          the API reference
        </a>{" "}
        and{" "}
        <a href="/docs?api=manage" className="text-accent underline">
          the management API reference
        </a>
        .
      </p>
    </Dialog>
  );
}
