import type { IconName } from "../ui/icon.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { setTheme, THEMES, type Theme, useTheme } from "./theme.ts";

const ICONS: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" };
const NAMES: Readonly<Record<Theme, string>> = { system: "System", light: "Light", dark: "Dark" };

export function ThemeMenu() {
  const theme = useTheme();
  const items = THEMES.map((one) => ({
    label: NAMES[one],
    icon: ICONS[one],
    isCurrent: one === theme,
    onSelect: () => setTheme(one),
  }));
  return (
    <Menu
      label={`Theme: ${NAMES[theme]}`}
      items={items}
      className="inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
    >
      <Icon name={ICONS[theme]} />
      <span className="sr-only">Theme: {NAMES[theme]}</span>
    </Menu>
  );
}
