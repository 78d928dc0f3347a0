import { Menu as Base } from "@base-ui/react/menu";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";
import { MENU_BUTTON, type MenuItem, type MenuProps } from "./menu-items.ts";
import { POPUP, POSITIONER } from "./popup.ts";

/** The menu itself; `menu.tsx` loads it. */
export function MenuWithPopup({ label, items, children, className, align = "end" }: MenuProps) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger
        {...(children === undefined ? { "aria-label": label, title: label } : {})}
        className={className ?? MENU_BUTTON}
      >
        {children ?? <Icon name="dots" />}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className={POSITIONER}>
          <Base.Popup
            aria-label={label}
            className={cx(
              POPUP,
              "max-h-[min(70dvh,var(--available-height))] max-w-[var(--available-width)] min-w-[var(--anchor-width)] overflow-auto p-1",
            )}
          >
            {items.map((item) => (
              <MenuEntry key={item.label} item={item} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

const ENTRY =
  "flex w-full cursor-pointer items-center gap-2.5 rounded-sm px-2.5 py-1.5 text-left whitespace-nowrap outline-none select-none data-disabled:cursor-not-allowed data-disabled:opacity-50 data-highlighted:bg-hover pointer-coarse:py-2.5";

function MenuEntry({ item }: { readonly item: MenuItem }) {
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
      <Base.LinkItem closeOnClick render={<Link plain to={item.to} />} className={ENTRY}>
        {inside}
      </Base.LinkItem>
    );
  return (
    <Base.Item
      disabled={item.disabled ?? false}
      onClick={item.onSelect}
      className={cx(ENTRY, item.danger === true && "text-bad")}
    >
      {inside}
    </Base.Item>
  );
}
