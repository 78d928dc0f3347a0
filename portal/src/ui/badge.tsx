import type { ReactNode } from "react";
import { cx } from "./class-names.ts";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info" | "accent";

const TONES: Readonly<Record<Tone, string>> = {
  neutral: "bg-sunken text-soft",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
  accent: "bg-accent-soft text-accent-strong",
};

/** `dot` marks states that can change without user action. */
export function Badge({
  tone = "neutral",
  dot = false,
  title,
  children,
}: {
  readonly tone?: Tone | undefined;
  readonly dot?: boolean | undefined;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <span
      title={title}
      className={cx(
        "inline-flex h-5 items-center gap-1.5 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap",
        TONES[tone],
      )}
    >
      {dot && <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />}
      {children}
    </span>
  );
}

export type Level = "L0" | "L1" | "L2" | "L3" | "L4";

const LEVELS: Readonly<
  Record<Level, { readonly classes: string; readonly bars: number; readonly description: string }>
> = {
  L0: { classes: "bg-l0-soft text-l0", bars: 0, description: "Sovereignty level 0 (lowest)" },
  L1: { classes: "bg-l1-soft text-l1", bars: 1, description: "Sovereignty level 1" },
  L2: { classes: "bg-l2-soft text-l2", bars: 2, description: "Sovereignty level 2" },
  L3: { classes: "bg-l3-soft text-l3", bars: 3, description: "Sovereignty level 3" },
  L4: { classes: "bg-l4-soft text-l4", bars: 4, description: "Sovereignty level 4 (highest)" },
};

function isLevel(text: string | null | undefined): text is Level {
  return text !== null && text !== undefined && text in LEVELS;
}

/** Text, colour and bars each convey the level. */
export function LevelBadge({
  level,
  name,
  isAttested = false,
}: {
  readonly level: string | null | undefined;
  readonly name?: string | undefined;
  /** The level of an own node is an admin's statement. */
  readonly isAttested?: boolean | undefined;
}) {
  if (!isLevel(level)) return <Badge title="Unclassified">Unclassified</Badge>;
  if (isAttested)
    return (
      <span className="inline-flex flex-wrap items-center gap-1">
        <LevelBadge level={level} name={name} />
        <span className="text-xs text-soft">attested</span>
      </span>
    );
  const { classes, bars, description } = LEVELS[level];
  return (
    <span
      title={description}
      className={cx(
        "inline-flex h-5 items-center gap-1.5 rounded-sm px-1.5 font-mono text-xs font-semibold whitespace-nowrap",
        classes,
      )}
    >
      <svg aria-hidden="true" viewBox="0 0 14 10" className="h-2.5 w-3.5">
        {[0, 1, 2, 3].map((bar) => (
          <rect
            key={bar}
            x={bar * 3.6}
            y={7 - bar * 2.2}
            width="2.4"
            height={3 + bar * 2.2}
            rx="0.5"
            fill="currentColor"
            opacity={bar < bars ? 1 : 0.28}
          />
        ))}
      </svg>
      {level}
      {name !== undefined && <span className="font-sans font-medium">{name}</span>}
      <span className="sr-only">, {description}</span>
    </span>
  );
}
