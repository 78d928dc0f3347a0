/** The surface of menus, pickers and tooltips; they fade in and leave at once. */
export const POPUP =
  "rounded-md border bg-raised text-left font-normal whitespace-normal text-ink shadow-pop outline-none transition-opacity duration-100 data-starting-style:opacity-0";

/** Popups are positioned above dialogs, which open them. */
export const POSITIONER = "z-50 outline-none";
