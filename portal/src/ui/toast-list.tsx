import { Toast as Base } from "@base-ui/react/toast";
import { useEffect } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";
import { showToastsWith } from "./toast.tsx";

const SHOWN_MS = 6000;
const SHOWN_MAX = 3;

const manager = Base.createToastManager();

/** The notifications, rendered once by the frame. */
export function Toasts() {
  useEffect(() => showToastsWith(({ text, tone }) => manager.add({ description: text, type: tone })), []);
  return (
    <Base.Provider toastManager={manager} limit={SHOWN_MAX} timeout={SHOWN_MS}>
      <Base.Portal>
        <Base.Viewport
          data-print="no"
          className="fixed right-4 bottom-4 z-60 grid w-[min(24rem,calc(100vw-2rem))] gap-2 outline-none"
        >
          <ToastList />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

/** By default a notification counts as a dialog. */
const AS_GROUP = { role: "group", "aria-modal": undefined } as const;

function ToastList() {
  const { toasts } = Base.useToastManager();
  return toasts.map((one) => (
    <Base.Root
      key={one.id}
      toast={one}
      {...AS_GROUP}
      className="rounded-md border bg-raised py-1.5 pr-1.5 pl-3 text-ink shadow-pop transition-opacity duration-100 data-limited:hidden data-starting-style:opacity-0"
    >
      <Base.Content className="flex items-start gap-2.5">
        <Icon
          name={one.type === "bad" ? "warning" : "check"}
          className={cx("mt-2", one.type === "bad" ? "text-bad" : "text-good")}
        />
        <Base.Description className="min-w-0 flex-1 py-1 break-words" />
        <Base.Close
          // By default it is only offered while the notifications have the focus.
          aria-hidden={false}
          render={<IconButton icon="close" label="Dismiss" />}
        />
      </Base.Content>
    </Base.Root>
  ));
}
