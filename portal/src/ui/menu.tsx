import { Icon } from "./icon.tsx";
import { later } from "./later.tsx";
import { MENU_BUTTON, type MenuProps } from "./menu-items.ts";

/** A button with a menu; the menu is loaded after the screen. */
export const Menu = later(async () => (await import("./menu-popup.tsx")).MenuWithPopup, MenuButton);

function MenuButton({ label, children, className }: MenuProps) {
  return (
    <button
      type="button"
      aria-haspopup="menu"
      aria-disabled="true"
      style={{ opacity: 1 }}
      aria-label={children === undefined ? label : undefined}
      className={className ?? MENU_BUTTON}
    >
      {children ?? <Icon name="dots" />}
    </button>
  );
}
