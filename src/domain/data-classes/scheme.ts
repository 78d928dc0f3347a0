/**
 * An identifier with a fixed form. Forms are templates: `9` a digit, `a` a letter, `c` either; `-`, `.`, `/`, `+` and a space
 * separate; everything else stands for itself.
 */
export type Scheme = {
  readonly id: string;
  /** What a finding is called where the text itself must not be shown. */
  readonly label: string;
  readonly class: BuiltInClass;
  /** Forms that are found anywhere. */
  readonly free: readonly string[];
  /** Forms that random numbers have too: found only near a context word. */
  readonly bound: readonly string[];
  /** There is no check digit. */
  readonly isUnchecked?: true;
  /** Small letters make it something else, also near a context word. */
  readonly inCapitals?: true;
  /** `sure`: there is a context word, or the form has separators or fixed letters. */
  readonly check: (compact: string, sure: boolean) => boolean;
};

export const BUILT_IN_CLASSES = ["personal", "special", "secret", "business", "test"] as const;
export type BuiltInClass = (typeof BUILT_IN_CLASSES)[number];

export const always = (): boolean => true;
