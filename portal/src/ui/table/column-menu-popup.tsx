import { Menu } from "@base-ui/react/menu";
import { cx } from "../class-names.ts";
import { Icon } from "../icon.tsx";
import { POPUP, POSITIONER } from "../popup.ts";
import { COLUMNS_BUTTON, type ColumnMenuProps } from "./column-menu-props.ts";

const ITEM =
  "flex cursor-default items-center gap-2 rounded-sm px-2 py-1.5 text-sm outline-none select-none data-highlighted:bg-hover";

/** The menu itself; `column-menu.tsx` loads it. */
export function ColumnMenuPopup({ table, columns, visibility, show, reset }: ColumnMenuProps) {
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger aria-label={`Columns of ${table}`} title="Columns" className={COLUMNS_BUTTON}>
        <Icon name="columns" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="end" sideOffset={4} className={POSITIONER}>
          <Menu.Popup
            aria-label={`Columns of ${table}`}
            className={cx(POPUP, "max-h-[min(70dvh,var(--available-height))] min-w-44 overflow-auto p-1")}
          >
            {columns.map((column) => (
              <Menu.CheckboxItem
                key={column.id}
                checked={visibility[column.id] !== false}
                onCheckedChange={(isShown) => show(column.id, isShown)}
                className={ITEM}
              >
                <span className="inline-flex size-4 items-center justify-center">
                  <Menu.CheckboxItemIndicator>
                    <Icon name="check" className="text-accent" />
                  </Menu.CheckboxItemIndicator>
                </span>
                {column.label}
              </Menu.CheckboxItem>
            ))}
            <Menu.Separator className="my-1 border-t" />
            <Menu.Item onClick={reset} className={ITEM}>
              <Icon name="refresh" className="text-soft" />
              Reset columns
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
