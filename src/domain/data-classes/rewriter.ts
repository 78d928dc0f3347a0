/** Changes the texts of a reply, whole or in the pieces of a stream. */
export type TextRewriter = {
  /** A text that is there as a whole. */
  whole(text: string, form?: "text" | "json"): string;
  /** A text that arrives in pieces; `form` undefined: its first characters tell. */
  open(form?: "text" | "json", extent?: "whole"): RewrittenText;
  /** Absent: all but signed reasoning. */
  readonly scope?: RewriteScope;
  /** A text ends only where the reply says so, not where another one begins: a value may be continued behind that. */
  readonly endsLate?: boolean;
  /** Nothing more of the reply may be sent. */
  isOver?(): boolean;
};

/** What of a reply is rewritten. */
export type RewriteScope = {
  /** Reasoning that a provider may have signed. */
  readonly reasoning: boolean;
  /** Names of members and numbers too. */
  readonly names: boolean;
  /** Whether the value of a member stays as it is. */
  readonly keeps: (name: string) => boolean;
  /** Whether the model itself wrote the value of a member, with all names and numbers in it: nothing of that is kept. */
  readonly isOwn?: (name: string) => boolean;
};

export type RewrittenText = {
  /** Held back, as it is written. */
  readonly heldChars: number;
  /** Where the changed text is longer or shorter. */
  readonly shifts: readonly { readonly at: number; readonly by: number }[];
  push(text: string): string;
  /** The last piece, with what was held back. */
  end(text?: string): string;
  /** Where an offset of the text as it was is in the changed one. */
  moved(offset: number): number;
};
