import { cx } from "./class-names.ts";

/** One path each, for a 16 × 16 grid and a stroke of 1.5. */
const PATHS = {
  home: "M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z",
  play: "M4.5 3v10l8-5z",
  plug: "M5.5 2v4M10.5 2v4M3.5 6h9v2a4.5 4.5 0 0 1-9 0zM8 12.5V15",
  cube: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6",
  building: "M3 14V2.5h6V14M9 6h4v8M1.5 14h13M5 5.5h2M5 8.5h2M5 11.5h2",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  chart: "M2.5 2.5v11h11M5 11V8M8 11V5M11 11V6.5",
  seal: "M8 10.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8M5.5 9.8 4.5 14 8 12.3l3.5 1.7-1-4.2M6.5 6.5l1 1 2-2",
  scroll:
    "M4 2.5h7.5V12A1.5 1.5 0 0 1 10 13.5H3.5A1.5 1.5 0 0 1 2 12v-1h6.5v1A1.5 1.5 0 0 0 10 13.5M4 2.5V11M6.5 5.5h3M6.5 8h3",
  book: "M8 4.2C6.6 3.2 4.6 2.8 2.5 2.8v9.4c2.1 0 4.1.4 5.5 1.4 1.4-1 3.4-1.4 5.5-1.4V2.8c-2.1 0-4.1.4-5.5 1.4M8 4.2v9.4",
  key: "M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2.5 11.4V13.5H5V12h1.5v-1.5L8.3 9A3.5 3.5 0 0 0 10.5 9M11.3 4.7h.01",
  shield: "M8 1.8 13 3.5V8c0 3-2.2 5.2-5 6.2C5.2 13.2 3 11 3 8V3.5zM5.8 7.8l1.6 1.6 2.9-3",
  route:
    "M4 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M12 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M5.5 12H10a2 2 0 0 0 0-4H6a2 2 0 0 1 0-4h4.5",
  gauge: "M2 11.5a6 6 0 1 1 12 0M8 11.5 11 7M8 11.5h.01",
  vault:
    "M2.5 3h11v9.5h-11zM4 12.5V14M12 12.5V14M8 10a2.2 2.2 0 1 0 0-4.4A2.2 2.2 0 0 0 8 10M8 5.6V4.5M8 11v-1M10.2 7.8h1M4.8 7.8h1",
  server: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01M8 5h3M8 11h3",
  record: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6",
  wallet: "M2.5 4.5h10a1 1 0 0 1 1 1v7h-10a1 1 0 0 1-1-1zM2.5 4.5 10 2.3v2.2M11 9h.01",
  people:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.5 13.5a4.5 4.5 0 0 1 9 0M11 7.3a2.3 2.3 0 0 0 0-4.4M12.3 9.6a4.5 4.5 0 0 1 2.2 3.9",
  person: "M8 7.5a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6M2.5 14a5.5 5.5 0 0 1 11 0",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.2 1.2H2.8zM6.6 14h2.8",
  token: "M2.5 4.5h11v7h-11zM5 8h.01M8 8h.01M11 8h.01",
  settings:
    "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M6 13a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3",
  activity: "M1.5 8.5h3l2-5 3 9 2-4h3",
  grid: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  clock: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M8 5v3.2l2 1.3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.3 10.3l3.2 3.2",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  arrow: "M2.5 8h11M9.5 4l4 4-4 4",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5",
  screen: "M2 3h12v8H2zM5.5 13.5h5M8 11v2.5",
  warning: "M8 2.2 14.3 13.3H1.7zM8 6.5v3M8 11.3h.01",
  info: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M8 7.3v3.4M8 5.2h.01",
  help: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M6.3 6.4a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.8.6-.8 1.1M8 11.2h.01",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8 10h3.5",
  out: "M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6",
  link: "M9 3h4v4M13 3 7.5 8.5M11 9.5V13H3V5h3.5",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9",
  edit: "M3 13h2.5l7-7L10 3.5l-7 7zM8.5 5l2.5 2.5",
  refresh: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  download: "M8 2.5V10M5 7l3 3 3-3M2.5 13.5h11",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4",
  lock: "M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  fingerprint:
    "M4 12.5c1-1.5 1.2-3 1.2-4.5a2.8 2.8 0 0 1 5.6 0c0 2-.2 3.5-.8 5.5M8 8c0 2.3-.4 4-1.3 5.7M2.5 9.5A5.5 5.5 0 0 1 8 2.5 5.5 5.5 0 0 1 13.5 8c0 1.2 0 2.2-.2 3.2",
  spark: "M8 2v4M8 10v4M2 8h4M10 8h4M4 4l1.8 1.8M10.2 10.2 12 12M12 4l-1.8 1.8M5.8 10.2 4 12",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  filter: "M2 3.5h12L9.5 9v4.5l-3-1.5V9z",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  printer: "M4.5 6V2.5h7V6M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7v4h-7z",
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative: the meaning is in the text next to it or in the button's label. */
export function Icon({ name, className }: { readonly name: IconName; readonly className?: string | undefined }) {
  const isDotted = name === "dots" || name === "list";
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 16 16"
      className={cx("size-4 shrink-0 fill-none stroke-current", className)}
      strokeWidth={isDotted ? 1.8 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
