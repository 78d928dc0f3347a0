import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";
import { cx } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Link } from "./link.tsx";

export type MenuItem =
  | {
      readonly label: string;
      readonly icon?: IconName | undefined;
      readonly to: string;
      readonly isCurrent?: boolean | undefined;
      readonly hint?: string | undefined;
    }
  | {
      readonly label: string;
      readonly icon?: IconName | undefined;
      readonly onSelect: () => void;
      readonly danger?: boolean | undefined;
      readonly disabled?: boolean | undefined;
      readonly isCurrent?: boolean | undefined;
      readonly hint?: string | undefined;
    };

type Props = {
  /** The accessible name of the button. */
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** The button content; default: three dots. */
  readonly children?: ReactNode | undefined;
  readonly className?: string | undefined;
  readonly align?: "start" | "end" | undefined;
};

/** A menu button based on the native popover. */
export function Menu({ label, items, children, className, align = "end" }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const positionMenu = () => {
    const [from, to] = [button.current?.getBoundingClientRect(), list.current];
    if (from === undefined || to === null) return;
    const width = Math.max(to.offsetWidth, from.width);
    const left = align === "end" ? from.right - width : from.left;
    const isLow = from.bottom + to.offsetHeight + 8 > innerHeight && from.top > to.offsetHeight + 8;
    to.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    to.style.top = `${isLow ? from.top - to.offsetHeight - 4 : from.bottom + 4}px`;
    to.style.minWidth = `${from.width}px`;
  };
  const onToggle = (isOpen: boolean) => {
    button.current?.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) return;
    positionMenu();
    itemsIn(list.current)[0]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = itemsIn(list.current);
    const active = document.activeElement;
    const at = active instanceof HTMLElement ? all.indexOf(active) : -1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    all[(next + all.length) % all.length]?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        popoverTarget={id}
        aria-haspopup="menu"
        aria-expanded="false"
        aria-label={children === undefined ? label : undefined}
        title={children === undefined ? label : undefined}
        className={
          className ??
          "inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
        }
      >
        {children ?? <Icon name="dots" />}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onToggle={(event) => onToggle(event.newState === "open")}
        onKeyDown={onKeyDown}
        className="fixed max-h-[70dvh] max-w-[calc(100vw-1rem)] overflow-auto rounded-md border bg-raised p-1 shadow-pop"
      >
        {items.map((item) => (
          <MenuEntry key={item.label} item={item} close={() => list.current?.hidePopover()} />
        ))}
      </div>
    </>
  );
}

function itemsIn(list: HTMLElement | null): HTMLElement[] {
  return list === null ? [] : [...list.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)')];
}

const ENTRY =
  "flex w-full items-center gap-2.5 rounded-sm px-2.5 py-1.5 text-left whitespace-nowrap outline-offset-[-2px] hover:bg-hover focus:bg-hover disabled:opacity-50";

function MenuEntry({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  const inside = (
    <>
      {item.icon !== undefined && <Icon name={item.icon} className="text-soft" />}
      <span className="min-w-0 flex-1 truncate">{item.label}</span>
      {item.hint !== undefined && <span className="text-xs text-faint">{item.hint}</span>}
      {item.isCurrent === true && <Icon name="check" className="text-accent" />}
    </>
  );
  if ("to" in item)
    return (
      <Link plain to={item.to} role="menuitem" tabIndex={-1} onClick={close} className={ENTRY}>
        {inside}
      </Link>
    );
  const select = () => {
    close();
    item.onSelect();
  };
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      disabled={item.disabled}
      onClick={select}
      className={cx(ENTRY, item.danger === true && "text-bad")}
    >
      {inside}
    </button>
  );
}
